import { parquetWriteBuffer } from 'hyparquet-writer';
import { readGivenCandidates } from '../../../../src/io/saved-runs/given-candidates.js';
import { scoredRuns } from '../../../../src/reports/curves-table.js';
import { importSummary } from '../../../../src/reports/write-import.js';
import { parquet } from '../../../fixtures/data-sets.js';
import { type DoneImport, imported, importOf, SavedFolder, told } from './import-world.js';
import { PATCH } from './saved-fixtures.js';

const ID = 'acme__calc-372';
const STATEMENT = 'add subtracts';
const call = (id: string, name: string, args: object): { tool_calls: object[] } => ({
  ...{ role: 'assistant', content: '' },
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
});
const result = (id: string | null, content: string): object => ({ role: 'tool', content, tool_call_id: id });
const CHAT: readonly object[] = [
  { role: 'system', content: 'You are an agent.' },
  { role: 'user', content: `<issue_description>\n${STATEMENT}\n</issue_description>` },
  { ...call('t0', 'execute_bash', { command: 'cat calc.py' }), content: 'I look at it.' },
  result('t0', 'def add(a, b): ...'),
  call('t1', 'str_replace_editor', { command: 'str_replace', path: '/w/calc.py', old_str: 'a - b', new_str: 'a + b' }),
  result('t1', 'Edited.'),
  call('t2', 'finish', { message: 'fixed' }),
];
const STEPS = [
  { thought: 'I look at it.', action: 'execute_bash\ncat calc.py', observation: 'def add(a, b): ...' },
  {
    thought: '',
    action: 'str_replace_editor command=str_replace\npath=/w/calc.py\nold_str=a - b\nnew_str=a + b',
    observation: 'Edited.',
  },
  { thought: '', action: 'finish message=fixed', observation: '' },
];
const SWE_AGENT_CHAT = [
  { role: 'system', system_prompt: 'You are an agent.', text: null, mask: false, cutoff_date: null },
  { role: 'user', text: `We are solving an issue.\nISSUE:\n${STATEMENT}\n\nINSTRUCTIONS:\nNow`, mask: false },
  { role: 'ai', text: 'DISCUSSION\nI look at it.\n```\ncat calc.py\n```', mask: true },
  { role: 'user', text: 'def add(a, b): ...', mask: false },
  { role: 'ai', text: 'I am done.\n```bash\nsubmit\n```\n', mask: true },
];
const XML_CHAT = [
  { role: 'system', content: 'You are an agent.' },
  { role: 'user', content: [{ type: 'text', text: `<pr_description>\n${STATEMENT}\n</pr_description>` }] },
  { role: 'assistant', content: 'I look.\n\n<function=bash>\n<parameter=command>cat calc.py</parameter>\n</function>' },
  { role: 'user', content: [{ type: 'text', text: 'OBSERVATION:\ndef add(a, b): ...' }] },
];

const rows = {
  'nebius/SWE-rebench-openhands-trajectories': {
    ...{
      trajectory_id: 'chatcmpl-1',
      instance_id: ID,
      repo: 'acme/calc',
      trajectory: CHAT,
      tools: [{ type: 'function' }],
    },
    ...{ model_patch: PATCH, exit_status: 'submit', resolved: 1, gen_tests_correct: 0.25, pred_passes_gen_tests: 1 },
  },
  'nebius/SWE-agent-trajectories': {
    ...{ instance_id: ID, model_name: 'swe-agent-llama-70b', target: true, trajectory: SWE_AGENT_CHAT },
    ...{ exit_status: 'submitted', generated_patch: PATCH, eval_logs: 'CANARY 1 passed' },
  },
  'nvidia/SWE-Zero-openhands-trajectories': {
    ...{ instance_id: ID, repo: 'acme/calc', license: 'MIT', trajectory_id: 'chatcmpl-1', trajectory: CHAT },
    ...{ model_patch: PATCH, dataset: 'SWE-Gym' },
  },
  'SWE-Gym/OpenHands-Sampled-Trajectories': {
    ...{ instance_id: ID, run_id: 'gpt-4o_run_1', resolved: true, messages: CHAT, tools: [] },
    test_result: { git_patch: PATCH, report: { resolved: true, CANARY: 1 }, apply_patch_output: 'CANARY' },
  },
  'SWE-bench/SWE-smith-trajectories': {
    ...{ messages: JSON.stringify(XML_CHAT), instance_id: ID, resolved: false, model: 'claude-3-7-sonnet' },
    ...{ traj_id: `${ID}.x1`, patch: PATCH },
  },
} as const;
type Set = keyof typeof rows;

const expected: Readonly<Record<Set, { id: string; label: string; model: string | null; steps: number }>> = {
  'nebius/SWE-rebench-openhands-trajectories': { id: 'chatcmpl-1', label: ' true', model: null, steps: 3 },
  'nebius/SWE-agent-trajectories': {
    id: 'swe-agent-llama-70b',
    label: ' true',
    model: 'swe-agent-llama-70b',
    steps: 2,
  },
  'nvidia/SWE-Zero-openhands-trajectories': { id: 'chatcmpl-1', label: '', model: null, steps: 3 },
  'SWE-Gym/OpenHands-Sampled-Trajectories': { id: 'gpt-4o_run_1', label: ' true', model: null, steps: 3 },
  'SWE-bench/SWE-smith-trajectories': { id: `${ID}.x1`, label: ' false', model: 'claude-3-7-sonnet', steps: 1 },
};

function stepsOf({ trajectories }: DoneImport): readonly unknown[] {
  return (trajectories[0] as { trajectory: { steps: readonly unknown[] } }).trajectory.steps;
}

describe.each(Object.keys(rows) as Set[])('a row of %s', (set) => {
  const { id, label, model, steps } = expected[set];

  it.each(['jsonl', 'parquet'])('becomes a candidate with its steps and a sealed label, from %s', async (kind) => {
    const row = rows[set];
    const folder = new SavedFolder();
    if (kind === 'jsonl') folder.json('rows.jsonl', row);
    else folder.write('rows.parquet', parquet(row));
    const done = await imported(folder.path);
    expect(told(done)).toEqual([`${ID}: ${id}${label}`]);
    expect(done.candidates[0]).toMatchObject({ patch: PATCH, origin: { format: 'trajectory-rows', model, line: 1 } });
    expect(stepsOf(done)).toHaveLength(steps);
    expect(done.issues).toMatchObject([{ instance_id: ID, problem_statement: STATEMENT }]);
    expect(done.summary.unread).toEqual([]);
    expect(done.open).not.toMatch(/CANARY|resolved|target|gen_tests/);
  });
});

describe('the steps of a published trajectory', () => {
  const steps = async (more: object): Promise<readonly unknown[]> => {
    const row = { instance_id: ID, trajectory_id: 'a', model_patch: PATCH, ...more };
    return stepsOf(await importOf({ 'rows.jsonl': [row] }));
  };

  it.each([
    ['a list of messages', { trajectory: CHAT }],
    ['a list as JSON in a string', { trajectory: JSON.stringify(CHAT) }],
    ['messages', { messages: CHAT }],
    ['messages as JSON in a string', { messages: JSON.stringify(CHAT, null, 1), trajectory: null }],
    [
      'tool calls as JSON in a string, and arguments as an object',
      {
        trajectory: CHAT.map((message) => {
          const { tool_calls: calls } = message as { tool_calls?: { function: { arguments: string } }[] };
          const read = calls?.map((each) => ({
            ...each,
            function: { ...each.function, arguments: JSON.parse(each.function.arguments) as unknown },
          }));
          return read === undefined ? message : { ...message, tool_calls: JSON.stringify(read) };
        }),
      },
    ],
    ['results without ids', { trajectory: CHAT.map((message) => ({ ...message, tool_call_id: null })) }],
  ])('are read from %s', async (_, more) => {
    expect(await steps(more)).toEqual(STEPS);
  });

  it('have the last code block of a message without tool calls as their action', async () => {
    const trajectory = rows['nebius/SWE-agent-trajectories'].trajectory;
    expect(await steps({ trajectory })).toEqual([
      { thought: 'DISCUSSION\nI look at it.', action: 'cat calc.py', observation: 'def add(a, b): ...' },
      { thought: 'I am done.', action: 'submit', observation: '' },
    ]);
  });

  it('keep each result with the call that it answers', async () => {
    const [one, two] = [call('a', 'bash', { command: 'one' }), call('b', 'bash', { command: 'two' })];
    const both = { ...one, content: 'x', tool_calls: [...one.tool_calls, ...two.tool_calls] };
    const chat = [both, call('c', 'bash', { command: 'three' }), result('c', '3'), result('b', '2'), result('a', '1')];
    expect(await steps({ trajectory: chat })).toEqual([
      { thought: 'x', action: 'bash\none\nbash\ntwo', observation: '2\n1' },
      { thought: '', action: 'bash\nthree', observation: '3' },
    ]);
  });
});

describe('the label of a published trajectory', () => {
  const label = async (more: object): Promise<unknown> => {
    const row = { instance_id: ID, trajectory_id: 'a', trajectory: CHAT, model_patch: PATCH, ...more };
    const { labels } = await importOf({ 'rows.jsonl': [row] });
    return labels[0] ?? null;
  };

  it.each([
    [{ resolved: true }, true],
    [{ resolved: 1 }, true],
    [{ resolved: '1.0' }, true],
    [{ resolved: 'True' }, true],
    [{ target: 0 }, false],
    [{ reward: 0 }, false],
    [{ resolved: 'false' }, false],
    [{ resolved: null, target: false }, false],
  ])('is read from %j', async (more, resolved) => {
    expect(await label(more)).toMatchObject({ candidate_id: 'a', resolved });
  });

  it.each([
    [{ resolved: 0.5 }, /resolved is 0.5, which is neither true nor false/],
    [{ resolved: 'partially' }, /resolved is "partially"/],
    [{ resolved: true, target: false }, /resolved is true, but target is not/],
    [{ resolved: true, test_result: { report: { resolved: false } } }, /but test_result.report.resolved is not/],
    [{ resolved: false, test_result: { report: { resolved: false, error_eval: true } } }, /evaluation itself failed/],
  ])('is unknown, with the reason, if the row says %j', async (more, reason) => {
    expect(await label(more)).toMatchObject({ resolved: null, reason: expect.stringMatching(reason) as string });
  });

  it('is absent if the row says nothing of the outcome', async () => {
    expect(await label({ resolved: null, gen_tests_correct: null })).toBeNull();
  });
});

it('reads rows of one model without ids under different names, each with its own label', async () => {
  const row = rows['nebius/SWE-agent-trajectories'];
  const other = { ...row, target: false, generated_patch: '' };
  const done = await importOf({ 'rows.jsonl': [row, other, { ...row, target: null, generated_patch: `${PATCH} ` }] });
  const model = row.model_name;
  expect(told(done)).toEqual([`${ID}: ${model} true`, `${ID}: ${model}#2 false`, `${ID}: ${model}#3`]);
});

it('reads messages that a parquet file holds as a list of records', async () => {
  const message = (role: string, content: string): object => ({ role, content });
  const chat = [message('user', 'fix it'), message('assistant', '```\nls\n```'), message('user', 'calc.py')];
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: 'instance_id', data: [ID] },
      { name: 'traj_id', data: ['a'] },
      { name: 'patch', data: [PATCH] },
      { name: 'resolved', data: [true] },
      { name: 'messages', data: [chat] },
    ],
    schema: [
      { name: 'root', num_children: 5 },
      ...['instance_id', 'traj_id', 'patch'].map(
        (name) => ({ name, type: 'BYTE_ARRAY', converted_type: 'UTF8' }) as const,
      ),
      { name: 'resolved', type: 'BOOLEAN' },
      { name: 'messages', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      { name: 'element', repetition_type: 'OPTIONAL', num_children: 2 },
      ...['role', 'content'].map(
        (name) => ({ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' }) as const,
      ),
    ],
  });
  const folder = new SavedFolder();
  folder.write('train-00000-of-00001.parquet', new Uint8Array(buffer));
  const done = await imported(folder.path);
  expect(told(done)).toEqual([`${ID}: a true`]);
  expect(stepsOf(done)).toEqual([{ thought: '', action: 'ls', observation: 'calc.py' }]);
});

it('rejects a damaged parquet file, and reads the others', async () => {
  const folder = new SavedFolder();
  folder.write('a.parquet', 'PAR1 nothing');
  folder.write('b.parquet', parquet(rows['SWE-bench/SWE-smith-trajectories']));
  const done = await imported(folder.path);
  expect(done.rejected).toMatchObject([{ reason: expect.stringMatching(/not a readable parquet file/) as string }]);
  expect(done.candidates).toHaveLength(1);
});

describe('a column that is not read beside a patch', () => {
  const prediction = { instance_id: ID, model_name_or_path: 'm', model_patch: PATCH };
  const notes = async (...lines: readonly object[]): Promise<unknown> => {
    const { summary } = await importOf({ 'preds.jsonl': lines });
    return summary.unread.map(({ columns, records }) => [columns, records]);
  };

  it.each([
    ['trajectory', { trajectory: 'a text of another kind' }],
    ['messages', { messages: [{ from: 'gpt', value: 'x' }] }],
    ['resolved', { resolved: 0 }],
    ['target', { target: false }],
    ['reward', { reward: 0.5 }],
  ])('of a prediction, as %s, is named', async (column, more) => {
    expect(await notes({ ...prediction, ...more })).toEqual([[[column], 1]]);
  });

  it('is named once for each set of columns, with the number of rows', async () => {
    const [a, b] = [{ resolved: true }, { resolved: false, messages: ['x'] }];
    const lines = [prediction, { ...prediction, ...a }, { ...prediction, ...b }, { ...prediction, ...a }];
    expect(await notes(...lines)).toEqual([
      [['resolved'], 2],
      [['resolved', 'messages'], 1],
    ]);
  });

  it.each([
    ['gold patch of a prediction', { ...prediction, patch: 'gold' }, ['patch']],
    ['label of a candidate', { instance_id: ID, candidate_id: 'a', patch: PATCH, resolved: true }, ['resolved']],
    ['reward of a gathered patch', { instance_id: ID, prefix: 'a', patch: PATCH, reward: 1 }, ['reward']],
    ['score of a trajectory', { ...rows['nvidia/SWE-Zero-openhands-trajectories'], score: 0.1 }, ['score']],
    ['label of a list of patches', { instance_id: ID, patches: [PATCH], resolved: [true] }, ['resolved']],
  ])('is named: the %s', async (_, row, columns) => {
    expect(await notes(row)).toEqual([[columns, 1]]);
  });

  it('is not named if it is empty, or if there is none', async () => {
    expect(await notes({ ...prediction, trajectory: null, messages: [], target: '' }, prediction)).toEqual([]);
  });

  it('is printed by import, and told to who reads candidates or curves', async () => {
    const folder = new SavedFolder();
    const file = folder.json('preds.jsonl', { ...prediction, resolved: true, '\u001b[31mred': 1 });
    const { summary } = await imported(file);
    const note = `${file}: not read in one record of swe-bench-predictions: "resolved", `;
    expect(importSummary(summary, 'out')).toContain(note);
    expect(importSummary(summary, 'out')).not.toContain('\u001b');
    const heard: string[] = [];
    await readGivenCandidates(file, [ID], (each) => heard.push(each));
    await scoredRuns([file], [], (each) => heard.push(each));
    expect(heard).toEqual([expect.stringContaining(note), expect.stringContaining(note)]);
  });
});

it('select and grade read a published trajectory as a candidate under its own id', async () => {
  const row = rows['nebius/SWE-rebench-openhands-trajectories'];
  const file = new SavedFolder().json('rows.jsonl', row);
  const heard: string[] = [];
  const found = await readGivenCandidates(file, [ID], (each) => heard.push(each));
  expect(found.get(ID)).toMatchObject([{ candidate_id: 'chatcmpl-1', patch: PATCH, trajectory: { steps: STEPS } }]);
  expect(heard).toEqual([]);
  const parquetFile = new SavedFolder().write('rows.parquet', parquet(row));
  expect((await readGivenCandidates(parquetFile, [ID], () => undefined)).get(ID)).toHaveLength(1);
});
