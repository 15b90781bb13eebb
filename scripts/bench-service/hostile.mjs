// How long `/healthz` takes while hostile requests for runs, uploads, benchmarks, reports and the pages of what they left are handled, one after
// another, without a pause; and while nothing is.
import { openLoop, send, show, Tally } from './load.mjs';
import { startService } from './service.mjs';

const FULL = { seconds: 30, perSecond: 50 };
const SHORT = { seconds: 5, perSecond: 20 };
/** Of p99, in ms. */
const AIM = 100;
const LINES = { 'content-type': 'application/x-ndjson' };

const issue = { instance_id: 'a__b-1', problem_statement: 'p', environment: { image: 'bench:1' } };
const run = (more) =>
  JSON.stringify({ issue, candidates: [{ candidate_id: 'c', patch: 'x' }], verifiers: ['eb'], ...more });
const list = (count, each) => Array.from({ length: count }, (_, n) => each(n));
const lines = (count, each) => list(count, (n) => `${JSON.stringify(each(n))}\n`).join('');
const upload = JSON.stringify({ ...issue, candidate_id: 'c', patch: '' });
const steps = list(60_000, () => ({ thought: 't', action: 'a' }));

const patchOf = (n) => `diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+b${n}\n`;

/** What is posted: path, body, headers. */
const HOSTILE = {
  'many keys': ['/v1/runs', run(Object.fromEntries(list(400_000, (n) => [`k${n}`, 1])))],
  'many steps': ['/v1/runs', run({ candidates: [{ candidate_id: 'c', patch: 'x', trajectory: { steps } }] })],
  'many stages': ['/v1/runs', run({ preset: { name: 'x', stages: list(200_000, () => ({})) } })],
  'one long text': ['/v1/runs', run({ issue: { ...issue, problem_statement: 'a\n'.repeat(10_000_000) } })],
  'one long patch': ['/v1/runs', run({ candidates: [{ candidate_id: 'c', patch: 'a\n'.repeat(10_000_000) }] })],
  'a long path': [
    '/v1/runs',
    run({ issue: { ...issue, environment: { image: 'b:1', hidden_paths: [`/a${'/'.repeat(2e7)}`] } } }),
  ],
  'an image': ['/v1/runs', run({ issue: { ...issue, environment: { image: 'a/'.repeat(1e6) } } })],
  'what patches print': [
    '/v1/runs',
    run({
      issue: { ...issue, environment: { image: 'b:1', regression_command: 'hostile-output' } },
      candidates: list(50, (n) => ({ candidate_id: `c${n}`, patch: patchOf(n) })),
    }),
  ],
  'many tests': [
    '/v1/rescores?image=b:1',
    `${upload}\n${lines(20_000, (n) => ({ instance_id: 'a__b-1', test_id: `t${n}`, path: 'a.py', content: 'x' }))}`,
    LINES,
  ],
  'a benchmark': [
    '/v1/benchmarks',
    [
      { arms: [{ name: 'a', candidates: true }], grade: false },
      issue,
      { arms: ['a'], candidate: { instance_id: 'a__b-1', candidate_id: 'c', patch: 'x', trajectory: { steps } } },
    ]
      .map((each) => `${JSON.stringify(each)}\n`)
      .join(''),
    LINES,
  ],
  'blank lines': ['/v1/rescores?image=b:1', '{}\n'.repeat(1_000_000), LINES],
  'many labels': [
    '/v1/reports',
    lines(500_000, (n) => ({ instance_id: `i${n}`, candidate_id: 'c', resolved: true })),
    LINES,
  ],
};

/** @returns whether every `/healthz` was answered; how fast is printed, and no failure; what is hostile may be refused */
export async function benchHostile({ database, folder, short }) {
  const { seconds, perSecond } = short ? SHORT : FULL;
  const service = await startService({ database, home: folder });
  const { url } = service;
  const tally = new Tally();
  const ask = (name, goesOn) => openLoop({ url, tally, perSecond, next: () => ({ name, path: '/healthz' }), goesOn });
  try {
    await ask('idle', (ms) => ms < (seconds * 1000) / 3);
    console.log(`healthz, nothing under way: ${show(tally.of('idle'))}`);
    for (const [name, [path, body, headers]] of Object.entries(HOSTILE)) {
      let over = false;
      const attack = repeat(url, { path, body, headers }, seconds / 5).finally(() => (over = true));
      await Promise.all([attack, ask(name, () => !over)]);
      const { p99, max } = tally.of(name);
      console.log(`  ${name}: p99 ${p99.toFixed(1)} ms, longest ${max.toFixed(1)} ms`);
    }
    const hostile = tally.of(Object.keys(HOSTILE));
    console.log(`healthz while what is hostile is handled: ${show(hostile)} (aim: p99 ${AIM} ms)`);
    return tally.errors.length === 0;
  } finally {
    await service.stop();
    for (const error of tally.errors.slice(0, 5)) console.error(`  ${error}`);
  }
}

/** Posts the same again and again, and looks at the pages of the runs that come of it. */
async function repeat(url, { path, body, headers }, seconds) {
  const end = performance.now() + seconds * 1000;
  do {
    const { text } = await send(url, { method: 'POST', path, body, headers });
    const { id, runs = [] } = JSON.parse(text);
    for (const run of [id, runs[0]?.id].filter(Boolean)) {
      await send(url, { path: `/v1/runs/${run}` });
      await send(url, { path: `/v1/runs/${run}/evidence` });
      await send(url, { path: `/v1/runs/${run}/candidates/c/judge-prompt` });
    }
  } while (performance.now() < end);
}
