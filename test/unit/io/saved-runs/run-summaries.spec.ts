import { importSummary } from '../../../../src/reports/write-import.js';
import { type DoneImport, importOf, told } from './import-world.js';
import { PATCH } from './saved-fixtures.js';

const prediction = (instance_id: string, model = 'acme/m-1', model_patch = PATCH): object => ({
  ...{ instance_id, model_name_or_path: model, model_patch },
});
const IDS = ['a__a-1', 'b__b-2', 'c__c-3'] as const;
const [FIRST, SECOND, THIRD] = IDS;
const preds = { 'preds.jsonl': IDS.map((id) => prediction(id)) };
const summarized = (lists: object, name = 'acme__m-1.run1.json', files: object = preds): Promise<DoneImport> =>
  importOf({ ...files, [name]: { resolved_ids: [], unresolved_ids: [], schema_version: 2, ...lists } });

function labelsOf({ labels }: DoneImport): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const { instance_id, resolved, reason } of labels) found[String(instance_id)] = resolved ?? reason;
  return found;
}

describe("the harness's summary of a run", () => {
  it('labels by every list of version 5, and says why an outcome is unknown', async () => {
    const ids = ['a__a-1', 'b__b-2', 'c__c-3', 'd__d-4', 'e__e-5', 'f__f-6', 'g__g-7'];
    const lists = {
      ...{
        resolved_ids: [ids[0]],
        unresolved_ids: [ids[1], ids[2]],
        empty_patch_ids: [ids[3]],
        error_ids: [ids[4], ids[5]],
      },
      ...{ infra_failure_ids: [ids[1], ids[4]], ambiguous_failure_ids: [ids[2]], incomplete_ids: ['h__h-8'] },
      ...{ completed_ids: ids.slice(0, 3), submitted_ids: ids, failure_reasons: { 'b__b-2': 'out_of_memory' } },
    };
    const done = await summarized(lists, 'acme__m-1.run1.json', { 'preds.jsonl': ids.map((id) => prediction(id)) });
    expect(labelsOf(done)).toEqual({
      'a__a-1': true,
      'b__b-2': "the harness's infrastructure failed (infra_failure): out_of_memory",
      'c__c-3': false,
      'd__d-4': false,
      'e__e-5': "the harness's infrastructure failed (infra_failure)",
      'f__f-6': "it was not evaluated: the run's summary has it in error_ids",
      'g__g-7': "it was not evaluated: the run's summary has it in no list of outcomes",
    });
    expect(done.rejected).toEqual([]);
    expect(done.summary).toMatchObject({ labelled: 3, resolved: 1, unknown_labels: 4 });
    expect(importSummary(done.summary, 'out')).toContain(
      '3 with a label (1 resolved), 4 with an unknown one (null), sealed in',
    );
  });

  it.each([
    ['missing lists', { resolved_ids: [FIRST], unresolved_ids: undefined }, { [FIRST]: true }],
    ['null lists', { resolved_ids: [FIRST], unresolved_ids: null, error_ids: null }, { [FIRST]: true }],
    ['no list of resolved instances', { resolved_ids: null, unresolved_ids: [SECOND] }, { [SECOND]: false }],
    ['an id twice in one list', { resolved_ids: [FIRST, FIRST] }, { [FIRST]: true }],
  ])('is read with %s', async (_, lists, expected) => {
    const done = await summarized(lists);
    expect(labelsOf(done)).toEqual(expected);
    expect(done.rejected).toEqual([]);
  });

  it.each([
    [['resolved_ids', 'unresolved_ids']],
    [['resolved_ids', 'error_ids']],
    [['resolved_ids', 'empty_patch_ids']],
    [['unresolved_ids', 'incomplete_ids']],
    [['resolved_ids', 'infra_failure_ids']],
  ])('leaves the label open, and says so, if one instance is in %j', async (names) => {
    const done = await summarized(Object.fromEntries(names.map((name) => [name, [FIRST]])));
    expect(labelsOf(done)[FIRST]).toBe(`the run's summary has it in ${names.join(' and in ')}`);
    expect(done.rejected).toMatchObject([{ reason: expect.stringMatching(/unknown whether "a__a-1"/) as string }]);
    expect(done.summary.contradictions).toHaveLength(1);
    expect(importSummary(done.summary, 'out')).toContain(names.join(' and in '));
  });

  const two = { 'p.jsonl': [prediction(FIRST, 'acme/m', PATCH), prediction(FIRST, 'acme/m.2', `${PATCH} `)] };
  it.each([
    ['acme__m.run1.json', [`${FIRST}: acme/m true`, `${FIRST}: acme/m.2`]],
    ['acme__m.2.run1.json', [`${FIRST}: acme/m`, `${FIRST}: acme/m.2 true`]],
    ['acme__m.2.run.1.json', [`${FIRST}: acme/m`, `${FIRST}: acme/m.2 true`]],
  ])('named %s labels the candidate of this model', async (name, expected) => {
    const done = await summarized({ resolved_ids: [FIRST] }, name, two);
    expect(told(done)).toEqual(expected);
  });

  it('of a model that is not in the input labels nothing if others are named after models', async () => {
    const one = { 'p.jsonl': [prediction(FIRST)], 'acme__m-1.r.json': { resolved_ids: [], unresolved_ids: [FIRST] } };
    const done = await summarized({ resolved_ids: [FIRST] }, 'acme__m-2.r.json', one);
    expect(told(done)).toEqual([`${FIRST}: acme/m-1 false`]);
    expect(done.rejected).toMatchObject([
      { reason: expect.stringMatching(/run "acme__m-2.r", whose model/) as string },
    ]);
  });
});

describe('the report of one instance', () => {
  const report = (id: string, more: object): object => ({
    [id]: { patch_is_None: false, patch_exists: true, patch_successfully_applied: true, tests_status: {}, ...more },
  });
  const both = (more: object, lists: object): Promise<DoneImport> =>
    summarized(lists, 'acme__m-1.run1.json', {
      ...{ 'preds.jsonl': [prediction(FIRST)] },
      [`logs/run_evaluation/run1/acme__m-1/${FIRST}/report.json`]: report(FIRST, more),
    });

  it.each([
    ['true', { resolved: true }, { unresolved_ids: [FIRST] }, true],
    ['false', { resolved: false }, { resolved_ids: [FIRST] }, false],
    [
      'false',
      { resolved: false, infra_failure: false },
      { unresolved_ids: [FIRST], infra_failure_ids: [FIRST] },
      false,
    ],
    [
      'unknown',
      { resolved: false, infra_failure: true, infra_failure_reason: 'out_of_memory' },
      { unresolved_ids: [FIRST] },
      "the harness's infrastructure failed (infra_failure): out_of_memory",
    ],
  ])('counts as %s against the summary, and the contradiction is told', async (_, more, lists, expected) => {
    const done = await both(more, lists);
    expect(labelsOf(done)).toEqual({ [FIRST]: expected });
    expect(done.rejected).toMatchObject([
      { reason: expect.stringMatching(/in its own report, which counts/) as string },
    ]);
    expect(importSummary(done.summary, 'out')).toMatch(/acme__m-1.run1.json: candidate "acme\/m-1" of "a__a-1" is/);
  });

  it('stays unknown if one summary says so, too, and another knows an outcome', async () => {
    const done = await summarized({ unresolved_ids: [FIRST], infra_failure_ids: [FIRST] }, 'acme__m-1.run1.json', {
      ...{ 'preds.jsonl': [prediction(FIRST)], 'acme__m-1.run2.json': { resolved_ids: [FIRST] } },
      [`logs/run1/acme__m-1/${FIRST}/report.json`]: report(FIRST, { resolved: false, infra_failure: true }),
    });
    expect(labelsOf(done)).toEqual({ [FIRST]: "the harness's infrastructure failed (infra_failure)" });
    expect(done.summary.contradictions).toEqual([expect.stringMatching(/run2.json: .* is resolved here, but unknown/)]);
  });

  it('agrees with the summary without a word', async () => {
    const done = await both({ resolved: true }, { resolved_ids: [FIRST] });
    expect(done.summary).toMatchObject({ labelled: 1, contradictions: [], rejected: 0 });
  });

  it.each([
    [1, true],
    [0, false],
    ['true', true],
    ['False', false],
    [0.0, false],
  ])('is read if it says %j', async (resolved, expected) => {
    const done = await importOf({ 'preds.jsonl': [prediction(FIRST)], 'report.json': report(FIRST, { resolved }) });
    expect(labelsOf(done)).toEqual({ [FIRST]: expected });
  });

  it('gives way, if unknown, to that of another run with an outcome', async () => {
    const at = (run: string, more: object): object => ({
      [`logs/${run}/acme__m-1/${FIRST}/report.json`]: report(FIRST, more),
    });
    const failed = at('r1', { resolved: false, infra_failure: true });
    const done = await importOf({ 'preds.jsonl': [prediction(FIRST)], ...failed, ...at('r2', { resolved: true }) });
    expect(told(done)).toEqual([`${FIRST}: acme/m-1 true`]);
    expect(done.summary).toMatchObject({ labelled: 1, unknown_labels: 0, rejected: 0 });
  });
});

it('keeps the reason of an unknown label in labels of its own', async () => {
  const label = { instance_id: THIRD, candidate_id: 'acme/m-1', resolved: null, reason: 'the tests timed out' };
  const done = await importOf({ ...preds, 'labels.jsonl': [label] });
  expect(labelsOf(done)).toEqual({ [THIRD]: 'the tests timed out' });
});
