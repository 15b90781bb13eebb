import { aim, median, memoryText, openWorld } from './world.mjs';

const FULL = { issues: 200, rounds: 3 };
const SHORT = { issues: 10, rounds: 1 };
const MOST = 1.05;
const AT_ONCE = 4;
const MOST_MB = 350;
/** It answers before its worker process has loaded what it works with. */
const SETTLE_MS = 2_000;

/** In turn, as the machine is: what else it does strikes all. */
export async function benchOverhead(short) {
  const { issues, rounds } = short ? SHORT : FULL;
  const world = await openWorld(issues);
  const times = { select: [], bench: [], service: [] };
  let memory = { bench: [], service: [] };
  const given = ['--candidates', world.candidates, '--verifiers', 'ef', '--parallel', String(AT_ONCE), '--json'];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const own = (name) => [`${world.folder}/${name}-${round}`, `${name}-${round}.sqlite`];
      const [selected, selectStore] = own('select');
      const select = await well(
        world.start(['select', '--issue', world.issues, ...given, '--out', selected], selectStore),
      );
      const [out, benchStore] = own('bench');
      const args = ['bench', 'run', '--dataset', world.issues, ...given, '--no-grade', '--out', out];
      const bench = await well(world.start(args, benchStore));
      const service = await onService(world, own('service')[1]);
      times.select.push(select.seconds);
      times.bench.push(bench.seconds);
      times.service.push(service.seconds);
      memory = { bench: bench.memory, service: service.memory };
    }
  } finally {
    world.close();
  }
  const [alone, bench, service] = [times.select, times.bench, times.service].map(median);
  console.log(`  ${issues} issues, ${AT_ONCE} at once, ${rounds} rounds: select ${alone.toFixed(1)} s`);
  const ratio = (seconds) => `${seconds.toFixed(1)} s, ${(seconds / alone).toFixed(3)} x`;
  const held = [
    aim(`bench run ${ratio(bench)} (aim ${MOST} x)`, short || bench / alone <= MOST),
    aim(`service   ${ratio(service)} (aim ${MOST} x; it has started before)`, short || service / alone <= MOST),
  ];
  for (const [name, of] of Object.entries(memory)) {
    const { most: peak, middle, last } = memoryText(of);
    const said = `memory of ${name}: ${peak} MB at most, ${middle} MB in the middle, ${last} MB at the end (aim ${MOST_MB})`;
    held.push(aim(said, peak <= MOST_MB));
  }
  return held.every(Boolean);
}

async function well(command) {
  const ended = await command.ended;
  if (ended.code !== 0) throw new Error(`ended with ${ended.code}: ${ended.err.slice(-2_000)}`);
  return ended;
}

/** From the moment it is sent until it is done. */
async function onService(world, store) {
  const service = world.start(['serve', '--port', '0'], store);
  const url = await listening(service);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const arms = [{ name: 'mine', candidates: true, judges: ['ef'] }];
  const lines = [
    { arms, concurrency: AT_ONCE, grade: false },
    ...world.rows,
    ...world.candidateRows.map((candidate) => ({ arms: ['mine'], candidate })),
  ];
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const began = performance.now();
  const headers = { 'content-type': 'application/x-ndjson' };
  const sent = await (await fetch(`${url}/v1/benchmarks`, { method: 'POST', headers, body })).json();
  for (let status = 'running'; status === 'running';) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const view = await (await fetch(`${url}/v1/benchmarks/${sent.id}`)).json();
    status = view.status;
    const [arm] = view.arms;
    if (status !== 'running' && (status !== 'done' || arm.selected !== world.rows.length))
      throw new Error(`the service's benchmark ended as ${JSON.stringify(view)}`);
  }
  const seconds = (performance.now() - began) / 1000;
  service.child.kill('SIGTERM');
  const { memory } = await service.ended;
  return { seconds, memory };
}

export async function listening(service) {
  for (;;) {
    const url = /"url":"(http:[^"]+)"/.exec(service.said.err)?.[1];
    if (url !== undefined) return url;
    if (service.child.exitCode !== null) throw new Error(`the service ended: ${service.said.err}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
