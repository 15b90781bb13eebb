import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CANARY, FIXTURES, PATCH } from './saved-fixtures.js';
import { imported, SavedFolder } from './import-world.js';

describe.each(Object.entries(FIXTURES))('%s', (name, { file, content, expected }) => {
  it('comes with its id, patch, steps, cost and exit reason', async () => {
    const folder = new SavedFolder();
    folder.json(file, content);
    const { candidates, trajectories, issues, rejected } = await imported(folder.path);
    const { instance_id, candidate_id, steps, problem_statement, model, cost_usd, exit_reason } = expected;
    const said = Object.entries({ model, cost_usd, exit_reason }).filter(([, value]) => value !== undefined);
    const origin = Object.fromEntries(said);
    expect(rejected).toEqual([]);
    expect(candidates).toMatchObject([
      { instance_id, candidate_id, patch: name === 'atif trial' ? '' : PATCH, origin },
    ]);
    const found = trajectories.map(({ trajectory }) => (trajectory as { steps: unknown[] }).steps);
    expect(found.map((each) => each.length)).toEqual(steps === 0 ? [] : [steps]);
    if (steps > 0) expect(JSON.stringify(found[0]?.[0])).toMatch(/ook\..*(ls|search).*calc\.py/);
    expect(issues).toMatchObject(problem_statement === undefined ? issues : [{ instance_id, problem_statement }]);
  });

  it('seals what tells the outcome', async () => {
    const folder = new SavedFolder();
    folder.json(file, content);
    const { labels, open, sealed, candidates } = await imported(folder.path);
    expect(open).not.toContain(CANARY);
    expect(open).not.toContain('sk-never');
    expect(JSON.stringify(candidates)).not.toMatch(/resolved|reward|FAIL_TO_PASS/);
    expect(sealed.includes(CANARY)).toBe(JSON.stringify(content).includes(CANARY));
    const said = labels.map(({ resolved }) => resolved).filter((label) => label !== null);
    expect(said).toEqual(expected.resolved === undefined ? [] : [expected.resolved]);
  });

  it('is the same after being imported again', async () => {
    const folder = new SavedFolder();
    folder.json(file, content);
    const once = await imported(folder.path);
    const twice = await imported(once.folder);
    expect(twice.candidates).toEqual(once.candidates);
    expect(twice.trajectories).toEqual(once.trajectories);
    expect(twice.issues).toEqual(once.issues);
    expect(twice.labels).toEqual(once.labels);
  });

  it('whose fields are of other kinds is rejected with its place, and nothing of it is kept', async () => {
    const folder = new SavedFolder();
    const broken = Object.fromEntries(Object.entries(content as object).map(([key, value]) => [key, mangled(value)]));
    folder.json(file, broken);
    const { candidates, rejected } = await imported(folder.path);
    expect(candidates).toEqual([]);
    expect(rejected).toMatchObject([{ file: expect.stringContaining(file) as string }]);
  });
});

it('takes the command of mini-swe-agent out of what was said around it', async () => {
  const folder = new SavedFolder();
  const { content } = FIXTURES['mini-swe-agent'] ?? {};
  const said = ['THOUGHT: I look.\n\n```bash\nls -a\n```', 'As in ```bash\nls\n``` before.\n```bash\npwd\n```'];
  const messages = said.flatMap((text) => [
    { role: 'assistant', content: text },
    { role: 'user', content: 'calc.py' },
  ]);
  folder.json('mini_run/o__r-1.traj.json', { ...(content as object), messages });
  const { trajectories } = await imported(folder.path);
  expect(trajectories[0]).toMatchObject({
    trajectory: {
      steps: [
        { thought: 'THOUGHT: I look.', action: 'ls -a' },
        { thought: 'As in  before.\n```bash\npwd\n```', action: 'ls' },
      ],
    },
  });
});

/** Another kind of value, in the same place. */
function mangled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => 7);
  if (typeof value === 'object' && value !== null) return { steps: 7, schema_version: 'x', trajectory_steps: 7 };
  return typeof value === 'string' ? 7 : value;
}

const REAL = resolve('../shared/data/trajectories');
const withReal = existsSync(REAL) ? it : it.skip;
if (!existsSync(REAL)) console.warn(`SKIPPED: no saved runs under ${REAL}`);

withReal.each([
  ['r2e-gym', { candidates: 3, labelled: 3 }],
  ['openhands', { candidates: 3 }],
  ['mini-swe-agent', { candidates: 12, labelled: 12, resolved: 5 }],
  ['swe-agent', { candidates: 18, instances: 6 }],
  ['atif', { candidates: 80, instances: 16, labelled: 80, resolved: 76 }],
  ['swe-bench-predictions', { candidates: 412 }],
  ['selector-inputs', { candidates: 19, labelled: 19 }],
])('the real %s runs import whole', async (folder, counts) => {
  const { summary } = await imported(resolve(REAL, folder));
  expect(summary).toMatchObject({ ...counts, rejected: 0 });
});
