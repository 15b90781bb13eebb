// 200 runs of 4 candidates on replay, submitted by eight connections and then by 200 at the same moment, and their status
// asked for while they are worked on.
import pLimit from 'p-limit';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openLoop, show, Tally } from './load.mjs';
import { startModel } from './model.mjs';
import { allDone, runBody } from './runs.mjs';
import { startService } from './service.mjs';

/** The first runs are not counted: until everything is compiled. */
const FULL = { warmUp: 20, runs: 200, connections: [8, 200], statusPerSecond: 100 };
const SHORT = { warmUp: 1, runs: 10, connections: [8], statusPerSecond: 10 };
const ALL_DONE_WITHIN_S = 300;
const JUDGE = { BESTK_VERIFIER_MODEL: 'judge' };

/** @returns whether nothing failed; what took too long is printed, and no failure */
export async function benchSubmit({ database, folder, short }) {
  const { warmUp, runs, connections, statusPerSecond } = short ? SHORT : FULL;
  const names = connections.map((atOnce) => Array.from({ length: runs }, (_, n) => `submit-${atOnce}-${n}`));
  const bodies = names.map((each) => each.map((name) => runBody(name, ['ef', 'eb'])));
  const first = Array.from({ length: warmUp }, (_, n) => runBody(`warm-up-${n}`, ['ef', 'eb']));
  const recording = await record([...first, ...bodies.flat()], folder);
  const service = await startService({ database, home: folder, settings: { ...JUDGE, BESTK_REPLAY: recording } });
  try {
    await submitInTurn(service.url, first);
    let isRight = true;
    for (const [index, atOnce] of connections.entries()) {
      const passed = await submitAll(service.url, { bodies: bodies[index], atOnce, statusPerSecond });
      isRight &&= passed;
    }
    return isRight;
  } finally {
    await service.stop();
  }
}

async function submitAll(url, { bodies, atOnce, statusPerSecond }) {
  const tally = new Tally();
  const start = performance.now();
  const limit = pLimit(atOnce);
  const post = (body) => limit(() => tally.note('submit', url, { method: 'POST', path: '/v1/runs', body }));
  const answers = await Promise.all(bodies.map(post));
  const ids = answers.flatMap((answer) => (answer === null ? [] : JSON.parse(answer.text).id));
  let over = false;
  const done = allDone(url, ALL_DONE_WITHIN_S).finally(() => (over = true));
  let turn = 0;
  const next = () => ({ name: 'status', path: `/v1/runs/${ids[turn++ % ids.length]}` });
  await Promise.all([done, openLoop({ url, tally, perSecond: statusPerSecond, next, goesOn: () => !over })]);
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `submit: ${ids.length} of ${bodies.length} runs of 4 candidates from ${atOnce} connections done in ${seconds.toFixed(1)} s`,
  );
  console.log(`  submit: ${show(tally.of('submit'))} (aim: p99 100)`);
  console.log(`  status: ${show(tally.of('status'))} (aim: p99 20)`);
  for (const error of tally.errors.slice(0, 5)) console.error(`  ${error}`);
  return tally.errors.length === 0 && ids.length === bodies.length;
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
    await submitInTurn(service.url, bodies);
  } finally {
    await service.stop();
    model.close();
  }
  return file;
}

async function submitInTurn(url, bodies) {
  const tally = new Tally();
  for (const body of bodies) await tally.note('submit', url, { method: 'POST', path: '/v1/runs', body });
  if (tally.errors.length > 0) throw new Error(tally.errors[0]);
  await allDone(url, ALL_DONE_WITHIN_S);
}
