import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { registerExport } from '../../../src/commands/import-export.js';
import { registerRescore } from '../../../src/commands/rescore.js';
import { runRequests } from '../../../src/commands/run-set.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { benchmarkOfRuns } from '../../../src/reports/benchmark/read-benchmark.js';
import { importSummary } from '../../../src/reports/write-import.js';
import { scoredRuns } from '../../../src/reports/curves-table.js';
import { writeRun } from '../../../src/reports/write-run.js';
import { givenRequest, runResult } from '../../fixtures/runs.js';
import { imported, SavedFolder } from '../io/saved-runs/import-world.js';
import { BenchmarkWorld, patchOf } from '../reports/benchmark-world.js';

const opened = (): Promise<never> => Promise.reject(new Error('opened'));
const report = (id: string, resolved: boolean) => ({ [id]: { resolved, tests_status: {} } });

const openHands = (error_eval: boolean) => ({
  ...{ instance_id: 'i', instruction: 'Fix it.', metadata: {}, history: [] },
  test_result: { git_patch: 'x', report: { resolved: false, error_eval } },
});

async function bestk(...args: readonly string[]): Promise<void> {
  const program = new Command('bestk').exitOverride();
  registerExport(program, () => Promise.resolve(() => Promise.resolve(null)));
  registerRescore(program, opened);
  await program.parseAsync(args, { from: 'user' });
}

async function rewards(run: string, labels: string): Promise<Record<string, unknown>> {
  const out = join(mkdtempSync(join(tmpdir(), 'bestk-rewards-')), 'rl.jsonl');
  await bestk('export', '--run', run, '--format', 'rl', '--labels', labels, '--out', out);
  const lines = readFileSync(out, 'utf8').trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const { candidate_id, reward } = JSON.parse(line) as { candidate_id: string; reward: unknown };
      return [candidate_id, reward];
    }),
  );
}

afterEach(() => {
  process.exitCode = 0;
});

it.each(['labels.jsonl', 'org__m/i/report.json'])('%s labels the runs of curves', async (file) => {
  const given = new SavedFolder();
  const runs = given.write('preds.jsonl', '{"instance_id": "i", "model_name_or_path": "org/m", "model_patch": "x"}\n');
  const label = { instance_id: 'i', candidate_id: 'org/m', resolved: true };
  const labels = given.json(file, file === 'labels.jsonl' ? label : report('i', true));
  const [issue] = await scoredRuns([runs], [labels], () => undefined);
  expect(issue?.candidates.map(({ resolved }) => resolved)).toEqual([true]);
});

it('labels with candidates of their own reach those of curves only by the patch', async () => {
  const row = (candidate_id: string, patch: string): object => ({ instance_id: 'i', candidate_id, patch });
  const label = (candidate_id: string, resolved: boolean): object => ({ instance_id: 'i', candidate_id, resolved });
  const jsonl = (rows: readonly object[]): string => rows.map((each) => `${JSON.stringify(each)}\n`).join('');
  const runs = new SavedFolder().write('a.jsonl', jsonl([row('a', 'one'), row('b', 'two'), row('c', 'three')]));
  const other = new SavedFolder();
  other.write('candidates.jsonl', jsonl([row('a', 'two'), row('b', 'four'), row('x', 'three'), row('c', 'three')]));
  other.write('labels.jsonl', jsonl([label('a', true), label('b', false), label('c', true), label('x', false)]));
  const [issue] = await scoredRuns([runs], [other.path], () => undefined);
  expect(issue?.candidates.map(({ entry, resolved }) => [entry.id, resolved])).toEqual([
    ['b', true],
    ['c', true],
  ]);
});

describe('unknown labels', () => {
  const row = (candidate_id: string): object => ({ instance_id: 'i', candidate_id, patch: `x ${candidate_id}` });
  const label = (candidate_id: string, resolved: unknown, reason?: string): object => {
    return { instance_id: 'i', candidate_id, resolved, reason };
  };
  const jsonl = (rows: readonly object[]): string => rows.map((each) => `${JSON.stringify(each)}\n`).join('');
  const saved = (...labels: readonly object[]): SavedFolder => {
    const folder = new SavedFolder();
    folder.write('a.jsonl', jsonl(['a', 'b', 'c'].map(row)));
    folder.write('labels.jsonl', jsonl(labels));
    return folder;
  };
  const report = (infra_failure: boolean) => ({ i: { resolved: false, infra_failure, tests_status: {} } });

  it('are imported with their reasons, and not beside a known one', async () => {
    const { path } = saved(label('a', null, 'timed out'), label('b', null), label('c', null, 'lost'), label('c', true));
    const { labels, summary, folder, rejected } = await imported(path);
    expect(labels).toEqual([
      { instance_id: 'i', candidate_id: 'c', resolved: true, sealed: [] },
      { instance_id: 'i', candidate_id: 'a', resolved: null, reason: 'timed out', sealed: [] },
      { instance_id: 'i', candidate_id: 'b', resolved: null, sealed: [] },
    ]);
    expect(summary).toMatchObject({ labelled: 1, resolved: 1, unknown_labels: 2, unknown_beside_known: 1 });
    expect(rejected).toEqual([]);
    expect(importSummary(summary, folder)).toContain('1 with a label (1 resolved), 2 with an unknown one (null), ');
    const again = await imported(folder);
    expect(again.labels).toEqual(labels);
  });

  it.each([
    ['a harness that could not evaluate the patch', 'i/report.json', report(true), /infra_failure/],
    ['an evaluation of OpenHands that failed', 'output.jsonl', openHands(true), /error_eval/],
  ])('are read from %s', async (_what, file, content, reason) => {
    const folder = new SavedFolder();
    if (file !== 'output.jsonl') folder.write('a.jsonl', jsonl([row('a')]));
    folder.json(file, content);
    const { labels, summary } = await imported(folder.path);
    expect(labels).toMatchObject([{ resolved: null, reason: expect.stringMatching(reason) as unknown }]);
    expect(summary).toMatchObject({ labelled: 0, unknown_labels: 1 });
  });

  it('stop an import and its readers only if a file of labels contradicts itself', async () => {
    const { path } = saved(label('a', true), label('b', null, 'lost'), label('a', false));
    const message = /labels\.jsonl, line 3, field "resolved": of "a" contradicts line 1\./;
    await expect(imported(path)).rejects.toThrow(message);
    await expect(scoredRuns([path], [])).rejects.toThrow(message);
    const apart = new SavedFolder();
    apart.write('l1.jsonl', jsonl([label('a', true)]));
    apart.write('l2.jsonl', jsonl([label('a', false)]));
    const { labels, rejected } = await imported(saved().path, apart.path);
    expect(labels.map(({ resolved }) => resolved)).toEqual([true]);
    expect(rejected).toMatchObject([
      { reason: expect.stringMatching(/contradicts an earlier one, of .*l1/) as unknown },
    ]);
  });

  it('reach curves with their reasons, and are known by an equal patch', async () => {
    const { path } = saved(label('a', null, 'timed out'), label('b', true));
    const [issue] = await scoredRuns([path], []);
    expect(issue?.candidates.map(({ entry, resolved }) => [entry.id, resolved])).toEqual([['b', true]]);
    expect(issue?.unknownLabels).toEqual(['timed out', 'no label is given']);
    const other = new SavedFolder();
    other.write('o.jsonl', jsonl([{ ...row('z'), patch: 'x a' }]));
    other.write('l.jsonl', jsonl([label('z', false)]));
    const [known] = await scoredRuns([path], [other.path]);
    expect(known?.candidates.map(({ entry, resolved }) => [entry.id, resolved])).toEqual([
      ['a', false],
      ['b', true],
    ]);
  });

  it('are enough for rescore, and give no reward', async () => {
    const { path } = saved(label('a', null, 'timed out'), label('b', true));
    const { folder } = await imported(path);
    expect(await rewards(folder, join(folder, 'labels.jsonl'))).toEqual({ a: null, b: 1, c: null });
    const [runs, only] = [new SavedFolder(), new SavedFolder()];
    runs.write('preds.jsonl', jsonl([{ instance_id: 'i', model_name_or_path: 'a', model_patch: 'x' }]));
    only.write('labels.jsonl', jsonl([label('a', null, 'timed out')]));
    const out = mkdtempSync(join(tmpdir(), 'bestk-rescored-'));
    const args = ['rescore', '--input', runs.path, '--out', out, '--labels', only.path];
    await expect(bestk(...args)).rejects.toThrow('opened');
  });
});

describe('reports of the harness as labels', () => {
  const given = new SavedFolder();
  const predictions = ['org/m', 'other'].map((model) => ({ model_name_or_path: model, model_patch: `x ${model}` }));
  given.write('preds.jsonl', predictions.map((each) => `${JSON.stringify({ instance_id: 'i', ...each })}\n`).join(''));
  const labels = new SavedFolder();
  labels.json('org__m/i/report.json', report('i', true));
  labels.json('nobody/i/report.json', report('i', false));

  it('reach the candidates of an import by the name of their model', async () => {
    const { folder } = await imported(given.path);
    expect(await rewards(folder, labels.path)).toEqual({ 'org/m': 1, other: null });
    expect(await rewards(folder, join(labels.path, 'org__m/i/report.json'))).toEqual({ 'org/m': 1, other: null });
    await expect(rewards(folder, join(labels.path, 'nobody/i/report.json'))).rejects.toThrow(
      /report\.json, field "--labels": has no label of these candidates: a label of "i"/,
    );
  });

  it('reach what a run returned by the name of its predictions, and no other run', async () => {
    const run = mkdtempSync(join(tmpdir(), 'bestk-run-'));
    const request = RunRequest.parse(givenRequest());
    const result = runResult();
    await writeRun(run, { id: 'run_1', createdAt: '2026-01-01T00:00:00Z', request, result });
    const { instance_id: id, candidate_id } = result.selection;
    const written = (model: string): string => labels.json(`${model}/${id}/report.json`, report(id, true));
    expect((await rewards(run, written('bestk-deepswe')))[candidate_id ?? '']).toBe(1);
    for (const model of ['bestk-majority', 'org__other'])
      await expect(rewards(run, written(model))).rejects.toThrow(new RegExp(`a label of model "${model}"`));
  });

  it('label the candidates of a run by the patch that was evaluated, and no others', async () => {
    const world = new BenchmarkWorld();
    const tried = ['a', 'b'].map((name) => ({ id: name, p: name === 'a' ? 0.9 : 0.1, passed: 5, right: false }));
    await world.run('o__r-1', tried);
    const logs = (patch: string): string => {
      const folder = new SavedFolder();
      folder.json('logs/bestk-deepswe/o__r-1/report.json', report('o__r-1', true));
      folder.write('logs/bestk-deepswe/o__r-1/patch.diff', patch);
      return folder.path;
    };
    const runs = join(world.path, 'runs');
    const labelled = async (folder: string, given: string): Promise<unknown> => {
      const { issues } = await benchmarkOfRuns([folder], [given], 't');
      return issues.flatMap(({ candidates }) => candidates.map(({ entry, resolved }) => [entry.id, resolved]));
    };
    expect(await labelled(runs, logs(patchOf('b')))).toEqual([['b', true]]);
    expect(await rewards(world.folder('o__r-1'), logs(patchOf('b')))).toEqual({ a: null, b: 1 });
    await expect(labelled(runs, logs(patchOf('c')))).rejects.toThrow(/no label of any candidate/);
    // Without the candidates, only the name says whose it is.
    expect(await labelled(world.onlyTheTwoFiles(), logs(patchOf('a')))).toEqual([['a', true]]);
  });

  it('reach no candidate of a run that returned nothing', async () => {
    const run = mkdtempSync(join(tmpdir(), 'bestk-run-'));
    const { candidates, ...given } = givenRequest();
    const request = RunRequest.parse({ ...given, candidates: candidates?.slice(0, 1) });
    await writeRun(run, { id: 'run_1', createdAt: '2026-01-01T00:00:00Z', request, result: runResult(null) });
    const summary = labels.json('bestk-deepswe.x.json', { resolved_ids: [], empty_patch_ids: ['demo-1'] });
    await expect(rewards(run, summary)).rejects.toThrow(/the run returned nothing/);
  });

  it('are read by select and solve before anything runs', async () => {
    const request = RunRequest.parse({ ...givenRequest(), k: 2 });
    const { instance_id } = request.issue;
    const [first] = request.candidates ?? [];
    const folder = new SavedFolder();
    const file = folder.json(`${first?.candidate_id ?? ''}/${instance_id}/report.json`, report(instance_id, true));
    const run = (requests: readonly RunRequest[]): Promise<number> =>
      runRequests(opened, requests, { command: 'select', out: folder.path, parallel: 1, labels: file, without: [] });
    await expect(run([request])).rejects.toThrow('opened');
    await expect(run([{ ...request, candidates: null }])).rejects.toThrow(/which has no candidates in the input/);
  });

  it('that belong to no candidate stop rescore', async () => {
    const out = mkdtempSync(join(tmpdir(), 'bestk-rescored-'));
    const args = ['rescore', '--input', join(given.path, 'preds.jsonl'), '--out', out, '--labels'];
    await expect(bestk(...args, join(labels.path, 'nobody'))).rejects.toThrow(
      /no label with an outcome belongs to a candidate/,
    );
    await expect(bestk(...args, join(labels.path, 'org__m'))).rejects.toThrow('opened');
  });
});

it('labels may be a list in a file of any name', async () => {
  const given = new SavedFolder();
  given.write('c.jsonl', '{"instance_id": "i", "candidate_id": "a", "patch": "x"}\n');
  const { folder } = await imported(given.path);
  const rows = [{ instance_id: 'i', candidate_id: 'a', resolved: 1 }];
  expect(await rewards(folder, given.write('labels.txt', JSON.stringify(rows)))).toEqual({ a: 1 });
});
