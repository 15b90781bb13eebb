// Mixed reads, 300 a second, while 50 event streams follow runs that are worked on; what the service takes of memory.
import { openLoop, send, show, Tally } from './load.mjs';
import { allDone, runBody } from './runs.mjs';
import { startService } from './service.mjs';

/** What a short test takes in a container, of which a run has a dozen one after the other: runs that last. */
const COMMAND_MS = 1000;
/** The first seconds are not counted: until everything is compiled and every cache is full. */
const FULL = { perSecond: 300, seconds: 60, warmUpS: 5, finished: 60, streams: 50 };
const SHORT = { perSecond: 20, seconds: 4, warmUpS: 0, finished: 3, streams: 5 };
const MOST_RSS = 700e6;

/** @returns whether nothing failed and memory stayed in bounds; what took too long is printed, and no failure */
export async function benchReads({ database, folder, short }) {
  const { perSecond, seconds, warmUpS, finished, streams: atOnce } = short ? SHORT : FULL;
  const service = await startService({ database, home: folder });
  const { url } = service;
  const [tally, streams] = [new Tally(), new Tally()];
  try {
    const next = await readsOf(url, finished);
    service.playFor(COMMAND_MS);
    let over = false;
    const followers = Array.from({ length: atOnce }, (_, n) => follow(url, streams, n, () => over));
    const load = { url, perSecond, next };
    await openLoop({ ...load, tally: new Tally(), goesOn: (ms) => ms < warmUpS * 1000 });
    const from = service.memory.length;
    await openLoop({ ...load, tally, goesOn: (ms) => ms < seconds * 1000 });
    const memory = service.memory.slice(from);
    const cpu = cpuSeconds(memory.at(-1)) - cpuSeconds(memory[0]);
    over = true;
    service.playFor(0);
    await Promise.all(followers);
    await allDone(url, 120);
    const errors = [...tally.errors, ...streams.errors];
    console.log(`reads: ${perSecond}/s for ${seconds} s beside ${atOnce} event streams: ${errors.length} errors`);
    console.log(`  all: ${show(tally.of())} (aim: p99 50)`);
    for (const name of tally.names().sort()) console.log(`  ${name}: ${show(tally.of(name))}`);
    console.log(`  CPU of the service: ${((100 * cpu) / (memory.length - 1)).toFixed(0)}% of a core`);
    console.log(`  runs followed to their end: ${streams.of('stream').count}`);
    for (const kind of ['rss', 'heapUsed']) console.log(`  ${kind}: ${trend(memory.map((usage) => usage[kind]))}`);
    for (const error of errors.slice(0, 5)) console.error(`  ${error}`);
    return errors.length === 0 && memory.every(({ rss }) => rss < MOST_RSS);
  } finally {
    await service.stop();
  }
}

/** Finished runs and a report, and the requests that read them in turn. */
async function readsOf(url, count) {
  const ids = [];
  for (let n = 0; n < count; n += 1) {
    const answer = await send(url, { method: 'POST', path: '/v1/runs', body: runBody(`read-${n}`, ['eb']) });
    ids.push(JSON.parse(answer.text).id);
  }
  await allDone(url, 300);
  const lines = ids.map((run_id) => `${JSON.stringify({ run_id })}\n`).join('');
  const upload = {
    method: 'POST',
    path: '/v1/reports',
    body: lines,
    headers: { 'content-type': 'application/x-ndjson' },
  };
  const report = JSON.parse((await send(url, upload)).text).id;
  const reads = readsOver(report);
  let turn = 0;
  return () => {
    turn += 1;
    const [name, path] = reads[turn % reads.length];
    // Another run at each turn through the list.
    return { name, path: path.replace(':id', ids[Math.floor(turn / reads.length) % ids.length]) };
  };
}

function readsOver(report) {
  const run = ['status', '/v1/runs/:id'];
  return [
    run,
    ['list', '/v1/runs?limit=20'],
    ['evidence', '/v1/runs/:id/evidence'],
    run,
    ['patch', '/v1/runs/:id/patch'],
    ['search', '/v1/runs?q=read-1&sort=-cost'],
    ['events', '/v1/runs/:id/events'],
    run,
    ['candidate', '/v1/runs/:id/candidates/c1'],
    ['list', '/v1/runs?status=running,queued'],
    ['cells', '/v1/runs/:id/cells?candidate_id=c0'],
    ['steps', '/v1/runs/:id/candidates/c2/steps'],
    run,
    ['judge-prompt', '/v1/runs/:id/candidates/c3/judge-prompt'],
    ['reports', '/v1/reports'],
    ['report', `/v1/reports/${report}`],
    ['metrics', '/metrics'],
    ['readyz', '/readyz'],
    ['healthz', '/healthz'],
    ['viewer', '/'],
  ];
}

/** Starts a run and reads its events to their end, again and again. */
async function follow(url, tally, number, isOver) {
  for (let n = 0; !isOver(); n += 1) {
    const body = runBody(`stream-${number}-${n}`, ['eb']);
    const answer = await tally.note('submit', url, { method: 'POST', path: '/v1/runs', body });
    if (answer === null) return;
    const { id } = JSON.parse(answer.text);
    const told = await tally.note('stream', url, { path: `/v1/runs/${id}/events` });
    if (told !== null && !told.text.includes('"done"')) tally.errors.push(`the stream of ${id} ended before its run`);
  }
}

function cpuSeconds({ cpu }) {
  return (cpu.user + cpu.system) / 1e6;
}

/** Begin and end are means of a tenth each; the slope is of the line with the least squares. */
function trend(values) {
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const tenth = Math.max(1, Math.floor(values.length / 10));
  const [middle, level] = [(values.length - 1) / 2, mean(values)];
  const up = values.reduce((sum, value, at) => sum + (at - middle) * (value - level), 0);
  const slope = up / values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
  const mb = (bytes) => (bytes / 1e6).toFixed(1);
  const [begin, end] = [mean(values.slice(0, tenth)), mean(values.slice(-tenth))];
  return `begin ${mb(begin)} MB, end ${mb(end)} MB, slope ${mb(slope * 60)} MB a minute`;
}
