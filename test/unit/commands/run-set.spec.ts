import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import type { App } from '../../../src/commands/command.js';
import { AgentRuns } from '../../../src/commands/mcp/tools.js';
import { registerGrade } from '../../../src/commands/grade.js';
import { registerRescore } from '../../../src/commands/rescore.js';
import { runSet, type SetTold } from '../../../src/commands/run-set.js';
import { registerSelect } from '../../../src/commands/select.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import { ImportedFolder } from '../../../src/io/saved-runs/imported-folder.js';
import { writeImport } from '../../../src/reports/write-import.js';
import { EngineUnavailableError } from '../../../src/core/errors/unavailable.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { printed } from '../../fixtures/printed.js';
import { processOn } from '../../fixtures/run-world.js';
import { ROW } from '../grading/grading-world.js';
import { givenRequest, PATCH, runResult } from '../../fixtures/runs.js';

let folder: string;
let requests: RunRequest[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bestk-sets-'));
  requests = [];
  engineIsAway = false;
});

let engineIsAway = false;

/** Runs end at once: each returns its second candidate, or nothing. */
async function appThatAnswers(returns: boolean): Promise<App> {
  const executor = new ScriptedExecutor((run) => {
    const request = RunRequest.parse(run.request);
    requests.push(request);
    if (engineIsAway) return Promise.reject(new EngineUnavailableError('none'));
    const result = runResult(returns ? PATCH : null);
    const { instance_id } = request.issue;
    const answer: RunResult = { ...result, selection: { ...result.selection, instance_id }, cells: [], verdicts: [] };
    return Promise.resolve(answer as never);
  });
  const own = processOn(new MemoryRunStore(), executor);
  const app = { setup: () => Promise.resolve('s'), dependencies: { defaults: ['eb'] }, close: own.shutdown };
  const sandbox = { describeImage: () => Promise.reject(new EngineUnavailableError('none')) };
  return { ...app, sandbox, runs: own.runs, worker: own.worker } as unknown as App;
}

async function run(args: readonly string[], returns = true): Promise<{ code: unknown; told: Record<string, unknown> }> {
  const program = new Command();
  registerSelect(program, () => appThatAnswers(returns));
  registerRescore(program, () => appThatAnswers(returns));
  registerGrade(program, () => appThatAnswers(returns));
  let code: unknown;
  const { stdout } = await printed(async () => {
    await program.parseAsync(['node', 'bestk', ...args, '--out', join(folder, 'out'), '--json']);
    code = process.exitCode;
  });
  return { code, told: JSON.parse(stdout) as Record<string, unknown> };
}

function jsonl(name: string, rows: readonly object[]): string {
  writeFileSync(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return join(folder, name);
}

const issues = (...ids: string[]): string =>
  jsonl(
    'issues.jsonl',
    ids.map((id) => givenRequest(id).issue),
  );
const candidates = (...ids: string[]): string => {
  const rows = ids.flatMap((id) => (givenRequest(id).candidates ?? []).map((each) => ({ ...each, instance_id: id })));
  return jsonl('candidates.jsonl', rows);
};
const tests = (...ids: string[]): string =>
  jsonl(
    'tests.jsonl',
    ids.map((instance_id) => ({ instance_id, test_id: 't', path: 't.py', content: 'x' })),
  );
const read = (name: string): string => readFileSync(join(folder, 'out', name), 'utf8');
const lines = (name: string): unknown[] =>
  read(name)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);

it('counts what is paid before its instances run, and what failed ones have paid', async () => {
  // Runs that wait for the same thing fail with the same error.
  const error = new EngineUnavailableError('none');
  const executor = new ScriptedExecutor(({ request }, _emit, _signal, told) => {
    const { instance_id } = RunRequest.parse(request).issue;
    const unpriced = { tokens: 15, usd: null };
    const spent = { 'demo-1': { tokens: 30, usd: 3 }, 'demo-2': unpriced }[instance_id];
    if (spent !== undefined) told?.(spent);
    return Promise.reject(error);
  });
  const own = processOn(new MemoryRunStore(), executor);
  const app = { setup: () => Promise.resolve('s'), close: own.shutdown, runs: own.runs, worker: own.worker };
  const seen: object[] = [];
  const stop = ({ spent }: SetTold): null => {
    seen.push({ ...spent });
    return null;
  };
  const items = ['demo-1', 'demo-2', 'demo-3'].map((instance_id) => {
    return { instance_id, request: () => RunRequest.parse(givenRequest(instance_id)), paid: { tokens: 10, usd: 1 } };
  });
  const set = { command: 'c', out: folder, parallel: 1, labels: () => Promise.resolve(null), stop };
  const { spent } = await runSet(app as unknown as App, items, set);
  const second = { tokens: 55, usd: 5 };
  expect([...seen, spent]).toEqual([{ tokens: 30, usd: 3 }, { tokens: 50, usd: 5 }, second, second]);
});

describe('a set of issues', () => {
  it('names the issues without candidates, and is a set whatever their number', async () => {
    const args = ['select', '--issue', issues('demo-1', 'demo-2'), '--candidates', candidates('demo-1')];
    expect(await run(args)).toMatchObject({ code: 0, told: { instances: 2, done: 1, skipped: 1 } });
    expect(lines('skipped.jsonl')).toEqual([
      { instance_id: 'demo-2', reason: 'has no candidates', code: 'no-candidates' },
    ]);
    expect(lines('selections.jsonl')).toMatchObject([{ instance_id: 'demo-1' }]);
    expect(existsSync(join(folder, 'out/demo-1/selection.json'))).toBe(true);
  });

  it('keeps its list of the issues without candidates when it is graded in its folder', async () => {
    const given = ['--issue', issues('demo-1', 'demo-2', 'demo-3'), '--candidates', candidates('demo-1', 'demo-2')];
    await run(['select', ...given]);
    const ids = ['demo-1', 'demo-2'];
    const hidden = jsonl(
      'hidden.jsonl',
      ids.map((instance_id) => ({ ...ROW, instance_id })),
    );
    const graded = ['grade', '--issue', issues(...ids), '--candidates', candidates(...ids), '--hidden-tests', hidden];
    await run(graded);
    await run(graded);
    expect(lines('skipped.jsonl')).toMatchObject([{ instance_id: 'demo-3' }]);
  });

  it('is graded as one, and names the issues without candidates', async () => {
    const hidden = jsonl('hidden.jsonl', [{ ...ROW, instance_id: 'demo-1' }]);
    const args = ['grade', '--issue', issues('demo-1', 'demo-2'), '--candidates', candidates('demo-1')];
    const { code, told } = await run([...args, '--hidden-tests', hidden]);
    expect({ code, told }).toMatchObject({ code: 3, told: { instances: [{ instance_id: 'demo-1' }], skipped: 1 } });
    expect(lines('skipped.jsonl')).toMatchObject([{ instance_id: 'demo-2', code: 'no-candidates' }]);
    expect(existsSync(join(folder, 'out/demo-1/labels.jsonl'))).toBe(true);
  });

  it('of one issue is none', async () => {
    const args = ['select', '--issue', issues('demo-1'), '--candidates', candidates('demo-1', 'demo-2')];
    expect(await run(args)).toMatchObject({ code: 0, told: { instance_id: 'demo-1' } });
    expect(existsSync(join(folder, 'out/selections.jsonl'))).toBe(false);
  });

  it('ends with 4 when none of its instances has a patch worth returning', async () => {
    const ids = ['demo-1', 'demo-2'];
    const args = ['select', '--issue', issues(...ids), '--candidates', candidates(...ids)];
    expect(await run(args, false)).toMatchObject({ code: 4, told: { done: 2, without: 2 } });
    expect(await run(args)).toMatchObject({ code: 0, told: { done: 2, without: 0 } });
  });

  it('has no tests written for issues that the saved tests do not name', async () => {
    const ids = ['demo-1', 'demo-2'];
    const given = ['--issue', issues(...ids), '--candidates', candidates(...ids)];
    await run(['select', ...given, '--tests', tests('demo-2')]);
    const used = requests.map(({ issue, tests: own }) => [issue.instance_id, own?.map(({ test_id }) => test_id)]);
    expect(new Map(used as [string, string[]][])).toEqual(
      new Map([
        ['demo-1', []],
        ['demo-2', ['t']],
      ]),
    );
  });
});

describe('rescore', () => {
  const rescored = (...ids: string[]): string[] => {
    const input = candidates(...ids);
    return ['rescore', '--input', input, '--issues', issues(...ids), '--verifiers', 'none', '--preset', 'majority'];
  };

  it('of one instance writes into the folder itself, next to the files of a set', async () => {
    expect(await run(rescored('demo-1'))).toMatchObject({ code: 0, told: { rescored: 1, candidates: 2 } });
    expect(JSON.parse(read('selection.json'))).toMatchObject({ instance_id: 'demo-1' });
    expect(existsSync(join(folder, 'out/demo-1'))).toBe(false);
    expect(lines('selections.jsonl')).toHaveLength(1);
    expect(lines('candidates.jsonl')).toMatchObject([{ trajectory: null }, { trajectory: { exit_reason: 'agent' } }]);
    const again = join(folder, 'again');
    mkdirSync(again);
    expect(await writeImport([join(folder, 'out')], again)).toMatchObject({
      candidates: 2,
      duplicates: 0,
      rejected: 0,
    });
    expect((await ImportedFolder.open(again)).instances()).toMatchObject([{ instance_id: 'demo-1' }]);
  });

  it('leaves no earlier report when its one instance is skipped', async () => {
    await run(rescored('demo-1'));
    const args = rescored('demo-1');
    issues('demo-2');
    expect(await run(args)).toMatchObject({ code: 2, told: { skipped: 1 } });
    expect(['run.json', 'selection.json'].filter((name) => existsSync(join(folder, 'out', name)))).toEqual([]);
    expect(lines('skipped.jsonl')).toMatchObject([{ instance_id: 'demo-1' }]);
    expect(read('predictions.jsonl')).toBe('');
  });

  it('has the files of a set when its one instance is skipped', async () => {
    const args = rescored('demo-1');
    issues('demo-2');
    await run(args);
    expect(['predictions.jsonl', 'candidates.jsonl', 'scores.jsonl'].map(read)).toEqual(['', '', '']);
  });

  it('keeps its input and the earlier report when its one instance fails, but not the decision', async () => {
    mkdirSync(join(folder, 'out'));
    const names = ['trajectories.jsonl', 'tests.jsonl', 'candidates.jsonl'];
    const args = rescored('demo-1');
    for (const name of names) writeFileSync(join(folder, 'out', name), readFileSync(join(folder, 'candidates.jsonl')));
    const input = read('trajectories.jsonl');
    engineIsAway = true;
    expect(await run(args)).toMatchObject({ code: 3, told: { failed: 1 } });
    expect(names.map(read)).toEqual([input, input, input]);
    engineIsAway = false;
    await run(args);
    const report = ['run.json', 'verdicts.jsonl', 'usage.json', 'matrix.jsonl', 'patch.diff', 'candidates.jsonl'];
    const earlier = report.map(read);
    engineIsAway = true;
    expect(await run([...args, '--min-confidence', '0.2'])).toMatchObject({ code: 3, told: { failed: 1 } });
    expect(report.map(read)).toEqual(earlier);
    expect(existsSync(join(folder, 'out/selection.json'))).toBe(false);
    expect([read('trajectories.jsonl'), read('predictions.jsonl')]).toEqual([input, '']);
  });

  it('keeps the earlier decision when it cannot begin', async () => {
    const args = rescored('demo-1');
    await run(args);
    const decision = read('selection.json');
    await expect(run([...args, '--tests', join(folder, 'none')])).rejects.toThrow(/none/);
    expect(read('selection.json')).toBe(decision);
  });

  it('ends with 4 when the one instance has no patch worth returning', async () => {
    expect(await run(rescored('demo-1'), false)).toMatchObject({ code: 4 });
  });

  it('of several has a folder each', async () => {
    expect(await run(rescored('demo-1', 'demo-2'))).toMatchObject({ code: 0, told: { rescored: 2 } });
    expect(existsSync(join(folder, 'out/selection.json'))).toBe(false);
    expect(existsSync(join(folder, 'out/demo-2/selection.json'))).toBe(true);
  });

  it('has no tests written for runs that the saved tests do not name', async () => {
    await run([...rescored('demo-1', 'demo-2'), '--tests', tests('demo-2')]);
    expect(requests.map(({ tests: own }) => own?.length).sort()).toEqual([0, 1]);
  });
});

it('gives an agent that repeats a call its run, but none under other settings', async () => {
  const app = await appThatAnswers(true);
  const ids: string[] = [];
  for (const setup of ['one judge', 'another judge', 'one judge']) {
    const runs = new AgentRuns({ ...app, setup: () => Promise.resolve(setup) });
    const id = await runs.start(RunRequest.parse(givenRequest()));
    expect(await runs.after(id, 60)).toMatchObject({ status: 'done' });
    ids.push(id);
  }
  expect(ids[1]).not.toBe(ids[0]);
  expect(ids[2]).toBe(ids[0]);
  await app.close();
});
