// Runs `bestk select` on real issues with real candidates in real containers and checks what it says:
// `npm run e2e:real [instance…]`. Needs the folder with the real issues; skips loudly without it.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { chance } from './e2e-real/best-at-k.mjs';
import { MIXED, present, realIssue, SHARED } from './e2e-real/data.mjs';
import { serveJudgements } from './e2e-real/judge-server.mjs';

const OUT = resolve('bestk-out/e2e-real');
const OUTCOME_OF_EXIT = { 0: 'solved', 2: 'not-solved' };

if (!present()) {
  console.log(`SKIPPED e2e:real: no real issues under ${SHARED} (set BESTK_REAL_DATA)`);
  process.exit(0);
}
const built = spawnSync('bash', [resolve(SHARED, 'images/real-issues.sh')], { stdio: 'inherit' });
if (built.status !== 0) process.exit(3);
rmSync(OUT, { recursive: true, force: true });

const asked = process.argv.slice(2);
const rows = [];
const problems = [];
for (const id of asked.length > 0 ? asked : MIXED) rows.push(await verify(realIssue(id)));
printTable(rows);
for (const problem of problems) console.log(`FAILED ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);

async function verify(real) {
  const id = real.issue.instance_id;
  const folder = resolve(OUT, id);
  mkdirSync(folder, { recursive: true });
  const file = (name, content) => (writeFileSync(resolve(folder, name), content), resolve(folder, name));
  const jsonl = (list) => list.map((row) => `${JSON.stringify(row)}\n`).join('');
  const server = await serveJudgements(real.candidates, real.judge);
  const started = performance.now();
  const code = await bestk(
    [
      'select',
      ...['--issue', file('issue.json', JSON.stringify(real.issue))],
      ...['--candidates', file('candidates.jsonl', jsonl(real.candidates))],
      ...['--tests', file('tests.jsonl', jsonl(real.tests))],
      ...['--out', resolve(folder, 'run'), '--json'],
    ],
    {
      OPENAI_BASE_URL: server.url,
      OPENAI_API_KEY: 'saved-judgements',
      BESTK_VERIFIER_MODEL: 'saved-judgements',
      DATABASE_URL: `file:${resolve(folder, 'store.sqlite')}`,
    },
    resolve(folder, 'progress.log'),
  );
  await server.close();
  if (code !== 0) {
    const words = readFileSync(resolve(folder, 'progress.log'), 'utf8').trim().split('\n').slice(-5).join('\n');
    problems.push(`${id}: bestk select ended with exit ${code}:\n${words}`);
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  return code === 0 ? summarise(real, resolve(folder, 'run'), seconds) : { id, seconds };
}

/** Runs bestk with its progress in a file. */
function bestk(args, env, log) {
  const child = spawn(process.execPath, ['dist/src/cli.js', ...args], {
    env: { ...process.env, ...env, BESTK_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', openSync(log, 'w')],
  });
  return new Promise((done) => child.on('close', done));
}

function summarise(real, folder, seconds) {
  const id = real.issue.instance_id;
  const read = (name) => readFileSync(resolve(folder, name), 'utf8');
  const lines = (name) =>
    read(name)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const verdicts = lines('verdicts.jsonl');
  const score = (measure) => (candidate) =>
    verdicts.find((each) => each.candidate_id === candidate && each.measure === measure && each.kind === 'scored')
      ?.score;
  const [judge, regression, tests] = ['execution_free', 'regression', 'reproduction'].map(score);
  const ids = real.candidates.map((candidate) => candidate.candidate_id);
  const selected = JSON.parse(read('selection.json'));
  const { same, differences } = compare(real, lines('matrix.jsonl'));
  const right = ids.filter((candidate) => real.labels.get(candidate)).length;
  if (real.labels.get(selected.candidate_id) !== true)
    problems.push(`${id}: the hybrid picked ${selected.candidate_id}, which is wrong`);
  for (const difference of differences) problems.push(`${id}: ${difference}`);
  return {
    id,
    k: ids.length,
    right,
    cells: `${same} equal, ${differences.length} different`,
    random: right / ids.length,
    regression: chance(ids, real.labels, regression),
    tests: chance(ids, real.labels, tests),
    judge: chance(ids, real.labels, judge),
    hybrid: real.labels.get(selected.candidate_id) ? 1 : 0,
    oracle: right > 0 ? 1 : 0,
    stage: selected.deciding_stage,
    seconds,
  };
}

/** Our outcomes against the exit codes of the saved matrix, cell by cell; base runs twice and both must agree. */
function compare(real, cells) {
  let same = 0;
  const differences = [];
  for (const cell of cells.filter(({ suite }) => suite === 'reproduction')) {
    const exit = real.expected.get(cell.candidate_id ?? 'base')?.[cell.test_id];
    if (exit === undefined) continue;
    const wanted = OUTCOME_OF_EXIT[exit] ?? 'crashed';
    if (cell.outcome === wanted) same += 1;
    else
      differences.push(
        `${cell.test_id} on ${cell.candidate_id ?? 'base'} is ${cell.outcome} (exit ${cell.exit_code}), the saved matrix has exit ${exit}`,
      );
  }
  const expected =
    [...real.expected.values()].flatMap((row) => Object.keys(row)).length +
    Object.keys(real.expected.get('base')).length;
  if (same + differences.length !== expected)
    differences.push(`${same + differences.length} cells compared, ${expected} expected`);
  return { same, differences };
}

function printTable(list) {
  const columns = [
    'id',
    'k',
    'right',
    'random',
    'regression',
    'tests',
    'judge',
    'hybrid',
    'oracle',
    'stage',
    'cells',
    'seconds',
  ];
  const text = (value) =>
    value === undefined ? '-' : Number.isInteger(value) || typeof value === 'string' ? String(value) : value.toFixed(2);
  console.log(`\n| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`);
  for (const row of list) console.log(`| ${columns.map((column) => text(row[column])).join(' | ')} |`);
}
