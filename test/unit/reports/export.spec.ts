import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { exportRows, type ExportFormat, type ExportOptions } from '../../../src/reports/exports/export-rows.js';
import { describeCandidates } from '../../../src/runs/entries.js';
import { similarity } from '../../../src/reports/exports/export-formats.js';
import type { Label } from '../../../src/reports/label-book.js';
import { writeRun } from '../../../src/reports/write-run.js';
import { imported, SavedFolder } from '../io/saved-runs/import-world.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { givenRequest, runResult } from '../../fixtures/runs.js';

type Row = Readonly<Record<string, unknown>>;

const entriesOf: ExportOptions['entriesOf'] = ({ candidates: all, verdicts }) =>
  describeCandidates(all, verdicts, '').map(({ entry }) => entry);

async function exported(folder: string, format: ExportFormat, more: Partial<ExportOptions> = {}): Promise<Row[]> {
  const converse: ExportOptions['converse'] = async (issue, candidate, right) => [
    { role: 'user', content: `${issue} ${candidate.patch}` },
    { role: 'assistant', content: right ? 'YES' : 'NO' },
  ];
  const rows: Row[] = [];
  const options = { folder, format, labels: null, references: new Map<string, string>(), converse, entriesOf, ...more };
  for await (const row of exportRows(options)) rows.push(row as Row);
  return rows;
}

const labelsOf = (
  rows: readonly (readonly [string, string, boolean | null])[],
): NonNullable<ExportOptions['labels']> => {
  const labels = new Map<string, Map<string, Label>>();
  for (const [instance, candidate, resolved] of rows) {
    const own = labels.get(instance) ?? new Map<string, Label>();
    labels.set(instance, own.set(candidate, { resolved, reason: resolved === null ? 'timed out' : null }));
  }
  return labels;
};

const text = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((each) => !/[\ud800-\udfff]/.test(each));
const step = fc.record({ thought: text, action: text, observation: text });
const run = fc.record({
  instance_id: fc.constantFrom('o__r-1', 'o__r-2'),
  patch: text.map((each) => `diff --git a/x b/x\n${each}`),
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  exit_reason: fc.constantFrom('agent', 'token_limit', null),
});

describe('import, export and import again', () => {
  it.each([
    ['r2e-gym', true],
    ['predictions', false],
  ] as const)('give equal candidates in the form %s', async (format, holdsSteps) => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 5 }), async (runs) => {
        const folder = new SavedFolder();
        const candidates = runs.map(({ instance_id, patch, steps, exit_reason }, index) => {
          const trajectory = { steps, exit_reason };
          return {
            instance_id,
            candidate_id: `c${index}`,
            patch,
            trajectory,
            problem_statement: 'It fails.',
            image: 'i',
          };
        });
        folder.write('candidates.jsonl', candidates.map((each) => `${JSON.stringify(each)}\n`).join(''));
        const once = await imported(folder.path);
        const again = new SavedFolder();
        const rows = await exported(once.folder, format);
        again.write('again.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
        const twice = await imported(again.path);
        const core = (all: readonly Row[]): Row[] =>
          all.map(({ instance_id, candidate_id, patch }) => ({ instance_id, candidate_id, patch }));
        expect(core(twice.candidates)).toEqual(expect.arrayContaining(core(once.candidates)));
        expect(twice.candidates.length).toBe(once.candidates.length);
        if (holdsSteps) {
          expect(twice.trajectories).toEqual(expect.arrayContaining([...once.trajectories]));
          expect(twice.issues).toEqual(expect.arrayContaining([...once.issues]));
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe('predictions of the selected patches', () => {
  /**
   * What `swebench.harness.utils.get_predictions_from_file` and `run_evaluation.main` ask of a JSONL file: every line a
   * dict with the keys instance_id, model_patch and model_name_or_path; then a dict by instance_id, so that each may occur
   * once; a patch that is None or "" counts as empty.
   */
  function readAsHarness(file: string): Map<string, Row> {
    const predictions = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    for (const prediction of predictions) {
      for (const key of ['instance_id', 'model_patch', 'model_name_or_path']) {
        if (!(key in prediction)) throw new Error(`missing ${key}`);
      }
      expect(typeof prediction.instance_id).toBe('string');
      expect(prediction.model_patch === null || typeof prediction.model_patch === 'string').toBe(true);
      expect(String(prediction.model_name_or_path)).not.toMatch(/[/\\]/);
    }
    const byId = new Map(predictions.map((prediction) => [String(prediction.instance_id), prediction]));
    expect(byId.size).toBe(predictions.length);
    return byId;
  }

  it('are what the official harness reads', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bestk-export-'));
    const request = RunRequest.parse(givenRequest());
    const finished = { id: 'run_1', createdAt: '2026-01-01T00:00:00Z', request, result: runResult() };
    await writeRun(folder, finished);
    const rows = await exported(folder, 'swe-bench');
    const file = join(folder, 'preds.jsonl');
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const { selection, patch } = finished.result;
    expect(readAsHarness(file).get(selection.instance_id)).toMatchObject({ model_patch: patch ?? '' });
  });

  it('need a selection', async () => {
    const folder = new SavedFolder();
    folder.write('candidates.jsonl', '{"instance_id": "i", "candidate_id": "c", "patch": "x"}\n');
    const { folder: from } = await imported(folder.path);
    await expect(exported(from, 'swe-bench')).rejects.toThrow(/has no selection/);
    await expect(exported('/nowhere', 'swe-bench')).rejects.toThrow(/not a bestk output folder/);
  });
});

async function candidates(rows: readonly (readonly [string, string, string | null])[]): Promise<string> {
  const folder = new SavedFolder();
  const lines = rows.map(([instance_id, candidate_id, exit_reason], index) => {
    const steps = [{ thought: `${index}`, action: '', observation: '' }];
    return `${JSON.stringify({ instance_id, candidate_id, patch: `p${index}`, trajectory: { steps, exit_reason } })}\n`;
  });
  folder.write('candidates.jsonl', lines.join(''));
  return (await imported(folder.path)).folder;
}

describe('rewards', () => {
  it('have leave-one-out advantages without scaling, and leave out what a limit ended', async () => {
    const folder = await candidates([
      ['i', 'a', 'agent'],
      ['i', 'b', 'agent'],
      ['i', 'c', 'token_limit'],
      ['i', 'd', null],
      ['i', 'e', 'agent'],
    ]);
    const labels = labelsOf([
      ['i', 'a', true],
      ['i', 'b', false],
      ['i', 'c', true],
      ['i', 'd', false],
    ]);
    const rows = await exported(folder, 'rl', { labels });
    expect(rows.map(({ reward, mask, advantage }) => [reward, mask, advantage])).toEqual([
      [1, true, 1],
      [0, true, -0.5],
      [1, false, null],
      [0, true, -0.5],
      [null, true, null],
    ]);
  });

  it('add up to nothing over the rollouts of an issue', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 2, maxLength: 8 }), async (rights) => {
        const folder = await candidates(rights.map((_, index) => ['i', `c${index}`, 'agent'] as const));
        const labels = labelsOf(rights.map((right, index) => ['i', `c${index}`, right] as const));
        const rows = await exported(folder, 'rl', { labels });
        expect(rows.reduce((sum, { advantage }) => sum + Number(advantage), 0)).toBeCloseTo(0, 9);
      }),
      { numRuns: 15 },
    );
  });

  it('know how alike a patch is to a reference', () => {
    expect(similarity('a\nb\n', 'a\nb\n')).toBe(1);
    expect(similarity('a\nb\n', 'c\nd\n')).toBe(0);
    expect(similarity('a\nb\nc\n', 'a\nb\nd\n')).toBeCloseTo(2 / 3, 9);
  });

  it.each(['rl', 'pairs'] as const)('and pairs need labels: %s', async (format) => {
    await expect(exported(await candidates([['i', 'a', null]]), format)).rejects.toThrow(/needs labels/);
  });
});

it('scores are a matrix that curves reads, with the labels given', async () => {
  const folder = await candidates([
    ['i', 'a', 'agent'],
    ['i', 'b', 'token_limit'],
  ]);
  const [row] = await exported(folder, 'scores', { labels: labelsOf([['i', 'b', true]]) });
  expect(row).toMatchObject({
    instance_id: 'i',
    candidate_ids: ['a', 'b'],
    resolved: [null, true],
    execution_free: [null, null],
    finished: [true, false],
    steps: [1, 1],
  });
});

describe('a candidate with an unknown label', () => {
  const ids = ['a', 'b', 'c', 'd'];
  const labels = labelsOf([
    ['i', 'a', true],
    ['i', 'b', null],
    ['i', 'c', false],
  ]);
  const unlabelled = labelsOf([
    ['i', 'a', true],
    ['i', 'c', false],
  ]);
  const folder = (): Promise<string> => candidates(ids.map((id) => ['i', id, 'agent'] as const));

  it('has no reward, and counts in no advantage', async () => {
    const rows = await exported(await folder(), 'rl', { labels });
    expect(rows.map(({ reward, advantage }) => [reward, advantage])).toEqual([
      [1, 1],
      [null, null],
      [0, -1],
      [null, null],
    ]);
  });

  it('has no reward in R2E-Gym either', async () => {
    const rows = await exported(await folder(), 'r2e-gym', { labels });
    expect(rows.map(({ reward }) => reward)).toEqual([1, null, 0, null]);
  });

  it('has null and its reason in a score matrix, which has no reasons if there are none', async () => {
    const [row] = await exported(await folder(), 'scores', { labels });
    expect(row).toMatchObject({ resolved: [true, null, false, null], label_reasons: [null, 'timed out', null, null] });
    const [without] = await exported(await folder(), 'scores', { labels: unlabelled });
    expect(without).toMatchObject({ resolved: [true, null, false, null] });
    expect(without).not.toHaveProperty('label_reasons');
  });

  it('is in no training pair', async () => {
    const pairs = await exported(await folder(), 'pairs', { labels });
    expect(pairs.map(({ candidate_id }) => candidate_id)).toEqual(['a', 'c']);
  });

  it.each(['predictions', 'r2e-gym', 'rl', 'pairs'] as const)(
    'is exported as one without a label: %s',
    async (format) => {
      const given = await folder();
      expect(await exported(given, format, { labels })).toEqual(await exported(given, format, { labels: unlabelled }));
    },
  );
});

describe('training pairs', () => {
  it('are as many right as wrong ones, and no repository is in both parts', async () => {
    const rows = Array.from({ length: 60 }, (_, n) => [`o${n % 20}__r-${n}`, `c${n}`, 'agent'] as const);
    const labels = labelsOf(rows.map(([instance, candidate], n) => [instance, candidate, n % 3 === 0]));
    const pairs = await exported(await candidates(rows), 'pairs', { labels });
    const answers = pairs.map(({ messages }) => (messages as { content: string }[]).at(-1)?.content);
    expect([answers.filter((each) => each === 'YES').length, answers.filter((each) => each === 'NO').length]).toEqual([
      20, 20,
    ]);
    const parts = new Map<string, Set<unknown>>();
    for (const { instance_id, split } of pairs) {
      const repo = String(instance_id).replace(/-\d+$/, '');
      parts.set(repo, (parts.get(repo) ?? new Set()).add(split));
    }
    expect([...parts.values()].every(({ size }) => size === 1)).toBe(true);
    expect(await exported(await candidates(rows), 'pairs', { labels })).toEqual(pairs);
  });
});
