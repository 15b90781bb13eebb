// Runs of 4 candidates on replay, submitted by eight connections and then by 200 at the same moment, and their status asked for
// when nothing is done and while they are worked on. In turn with it, in the same state of the machine, the floor answers the same:
// a bare handler over the same rows of a store of its own.
import { fork } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { openLoop, show, Tally } from './load.mjs';
import { startModel } from './model.mjs';
import { allDone, runBody } from './runs.mjs';
import { startService } from './service.mjs';

/** The first runs are not counted: until everything is compiled. */
const FULL = { warmUp: 20, runs: 200, rounds: 4, connections: [8, 200], statusPerSecond: 100, idleS: 5 };
const SHORT = { warmUp: 1, runs: 10, rounds: 2, connections: [8], statusPerSecond: 10, idleS: 1 };
const ALL_DONE_WITHIN_S = 300;
const JUDGE = { BESTK_VERIFIER_MODEL: 'judge' };
const FLOOR = fileURLToPath(new URL('floor-main.mjs', import.meta.url));

/** @returns whether nothing failed; what took too long is printed, and no failure */
export async function benchSubmit({ database, floorDatabase, folder, short }) {
  const sizes = short ? SHORT : FULL;
  const names = sizes.connections.map((atOnce) =>
    Array.from({ length: sizes.runs }, (_, n) => `submit-${atOnce}-${n}`),
  );
  const bodies = names.map((each) => each.map((name) => runBody(name, ['ef', 'eb'])));
  const first = Array.from({ length: sizes.warmUp }, (_, n) => runBody(`warm-up-${n}`, ['ef', 'eb']));
  const recording = await record([...first, ...bodies.flat()], folder);
  const floor = await startFloor(floorDatabase);
  const service = await startService({ database, home: folder, settings: { ...JUDGE, BESTK_REPLAY: recording } });
  const bench = { service: side(service.url), floor: side(floor.url), ...sizes };
  try {
    for (const each of [bench.service, bench.floor]) await post(each, 'warm-up', first, 1);
    await allDone(service.url, ALL_DONE_WITHIN_S);
    await idleStatus(bench);
    for (const [index, atOnce] of sizes.connections.entries()) await submitAll(bench, bodies[index], atOnce);
    return [bench.service, bench.floor].every(({ tally }) => tally.errors.length === 0);
  } finally {
    await service.stop();
    floor.stop();
    const errors = [...bench.service.tally.errors, ...bench.floor.tally.errors];
    for (const error of errors.slice(0, 5)) console.error(`  ${error}`);
  }
}

function side(url) {
  return { url, tally: new Tally(), ids: [] };
}

/** In turn, as the machine is: what else it does strikes both. */
async function idleStatus({ service, floor, rounds, idleS, statusPerSecond }) {
  for (let round = 0; round < rounds; round += 1) {
    const goesOn = (ms) => ms < (idleS * 1000) / rounds;
    for (const each of [floor, service]) await askStatus(each, { name: 'idle', perSecond: statusPerSecond, goesOn });
  }
  compare('status, nothing under way', { service, floor, name: 'idle', most: 2 });
}

async function submitAll({ service, floor, rounds, statusPerSecond }, bodies, atOnce) {
  const [posts, worked] = [`submit ${atOnce}`, `status ${atOnce}`];
  const start = performance.now();
  const size = Math.max(atOnce, Math.ceil(bodies.length / rounds));
  for (let from = 0; from < bodies.length; from += size) {
    for (const each of [floor, service]) await post(each, posts, bodies.slice(from, from + size), atOnce);
  }
  compare(`${bodies.length} posts by ${atOnce} connections`, { service, floor, name: posts, most: 2 });
  let over = false;
  const done = allDone(service.url, ALL_DONE_WITHIN_S).finally(() => (over = true));
  const asking = askStatus(service, { name: worked, perSecond: statusPerSecond, goesOn: () => !over });
  await Promise.all([done, asking]);
  const [busy, idle] = [service.tally.of(worked), service.tally.of('idle')];
  console.log(`  all done after ${((performance.now() - start) / 1000).toFixed(1)} s; status meanwhile: ${show(busy)}`);
  console.log(`    p99 ${(busy.p99 / idle.p99).toFixed(2)} x that with nothing under way (aim: 1.5)`);
}

function compare(what, { service, floor, name, most }) {
  const [ours, bare] = [service.tally.of(name), floor.tally.of(name)];
  console.log(`${what}: ${show(ours)}`);
  console.log(`    floor: ${show(bare)}; p99 ${(ours.p99 / bare.p99).toFixed(2)} x floor (aim: ${most})`);
}

async function post({ url, tally, ids }, name, bodies, atOnce) {
  const limit = pLimit(atOnce);
  const one = (body) => limit(() => tally.note(name, url, { method: 'POST', path: '/v1/runs', body }));
  for (const answer of await Promise.all(bodies.map(one))) if (answer !== null) ids.push(JSON.parse(answer.text).id);
}

async function askStatus({ url, tally, ids }, { name, perSecond, goesOn }) {
  let turn = 0;
  const next = () => ({ name, path: `/v1/runs/${ids[turn++ % ids.length]}` });
  await openLoop({ url, tally, perSecond, next, goesOn });
}

async function startFloor(database) {
  const child = fork(FLOOR, [database]);
  const [url] = await once(child, 'message');
  return { url, stop: () => child.kill() };
}

/** Has the judge's answers to these runs written down. @returns the file */
async function record(bodies, folder) {
  const home = join(folder, 'recording');
  mkdirSync(home, { recursive: true });
  const model = await startModel(0);
  const file = join(home, 'judge.jsonl');
  const settings = { ...JUDGE, BESTK_RECORD: file, OPENAI_BASE_URL: model.url };
  const service = await startService({ database: `file:${join(home, 'store.sqlite')}`, home, settings });
  try {
    const all = side(service.url);
    await post(all, 'record', bodies, 4);
    if (all.tally.errors.length > 0) throw new Error(all.tally.errors[0]);
    await allDone(service.url, ALL_DONE_WITHIN_S);
  } finally {
    await service.stop();
    model.close();
  }
  return file;
}
