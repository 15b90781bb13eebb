import { readdirSync } from 'node:fs';
import { type Files, importOf, told } from './import-world.js';
import { PATCH } from './saved-fixtures.js';

const ID = 'django__django-1';
const OTHER = PATCH.replace('a + b', 'b + a');

const prediction = (model: string, model_patch: string): object => ({
  instance_id: ID,
  model_name_or_path: model,
  model_patch,
});
const report = (resolved: boolean, more: object = {}): object => ({
  [ID]: { patch_is_None: false, patch_exists: true, patch_successfully_applied: true, resolved, ...more },
});
const summary = (resolved: readonly string[], unresolved: readonly string[]): object => ({
  ...{ total_instances: 1, resolved_ids: resolved, unresolved_ids: unresolved, empty_patch_ids: [], error_ids: [] },
  schema_version: 2,
});
const log = (run: string, patch: string, resolved: boolean, model = 'm'): Files => ({
  [`logs/run_evaluation/${run}/${model}/${ID}/report.json`]: report(resolved),
  [`logs/run_evaluation/${run}/${model}/${ID}/patch.diff`]: patch,
});

describe('the logs of the SWE-bench harness', () => {
  const two = { 'p1.jsonl': [prediction('m', PATCH)], 'p2.jsonl': [prediction('m', OTHER)] };

  it('label each of K runs of one model by its patch', async () => {
    const done = await importOf({ ...two, ...log('r1', PATCH, true), ...log('r2', OTHER, false) });
    expect(told(done)).toEqual([`${ID}: m true`, `${ID}: m#2 false`]);
    expect(done.rejected).toEqual([]);
    expect(Object.keys(done.labels[0] ?? {}).sort()).toEqual(['candidate_id', 'instance_id', 'resolved', 'sealed']);
  });

  it('label every run with the patch', async () => {
    const files = { ...two, 'p3.jsonl': [prediction('m', PATCH)], ...log('r1', PATCH, true) };
    expect(told(await importOf(files))).toEqual([`${ID}: m true`, `${ID}: m#2`, `${ID}: m#3 true`]);
  });

  it('keep what each of them says, whatever was read before its candidates', async () => {
    const said = (ID: string, resolved: boolean): object => ({ [ID]: { resolved, tests_status: { of: ID } } });
    const ids = ['a__a-1', 'b__b-1', 'c__c-1', 'd__d-1'];
    const done = await importOf({
      ...Object.fromEntries(ids.map((id, n) => [`logs/m/${id}/report.json`, said(id, n % 2 === 0)])),
      'logs/nobody/b__b-1/report.json': said('nobody', true),
      'preds.jsonl': ids.map((instance_id) => ({ ...prediction('m', PATCH), instance_id })),
      'z.jsonl': [{ instance_id: 'a__a-1', candidate_id: 'm', resolved: true, sealed: [] }],
    });
    const labels = done.labels.map(({ instance_id, resolved, sealed }) => [
      instance_id,
      resolved,
      JSON.stringify(sealed),
    ]);
    const kept = ids.map((id, n) => [id, n % 2 === 0, expect.stringContaining(`{"of":"${id}"}`) as string]);
    expect(labels).toEqual(expect.arrayContaining([...kept, ['a__a-1', true, '[]']]));
    expect(done.rejected).toMatchObject([{ reason: expect.stringMatching(/"nobody"/) as string }]);
    expect(Object.keys(done.labels[1] ?? {}).sort()).toEqual(['candidate_id', 'instance_id', 'resolved', 'sealed']);
    expect(readdirSync(done.folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('label nothing by another patch', async () => {
    const done = await importOf({ 'p1.jsonl': [prediction('m', PATCH)], ...log('r2', OTHER, true) });
    expect(told(done)).toEqual([`${ID}: m`]);
    expect(done.rejected).toMatchObject([{ reason: expect.stringMatching(/a patch that no candidate/) as string }]);
  });

  it('that contradict each other keep the first label', async () => {
    const done = await importOf({
      'p1.jsonl': [prediction('m', PATCH)],
      ...log('r1', PATCH, true),
      ...log('r2', PATCH, false),
    });
    expect(told(done)).toEqual([`${ID}: m true`]);
    expect(done.rejected).toMatchObject([{ reason: expect.stringMatching(/contradicts an earlier one/) as string }]);
  });

  it('label no one of K runs if they hold no patch', async () => {
    const done = await importOf({ ...two, [`logs/r1/m/${ID}/report.json`]: report(true) });
    expect(told(done)).toEqual([`${ID}: m`, `${ID}: m#2`]);
    expect(done.rejected).toMatchObject([{ reason: expect.stringMatching(/could belong to 2 candidates/) as string }]);
  });

  it('leave the label open if the harness failed', async () => {
    const lost = report(false, { infra_failure: true, infra_failure_reason: 'no space left' });
    const done = await importOf({ 'p1.jsonl': [prediction('m', PATCH)], [`logs/r1/m/${ID}/report.json`]: lost });
    expect(done.labels).toMatchObject([{ candidate_id: 'm', resolved: null }]);
  });
});

describe('a report', () => {
  it('of SWE-smith belongs to the model that it names', async () => {
    const smith = { ...{ instance_id: ID, patch_exists: true, resolved: true, tests_status: {} } };
    const done = await importOf({
      'preds.jsonl': [prediction('m', PATCH), prediction('n', OTHER)],
      [`logs/run_evaluation/my_run/${ID}/report.json`]: { ...smith, model_name_or_path: 'n' },
    });
    expect(told(done)).toEqual([`${ID}: m`, `${ID}: n true`]);
  });

  it('in the eval_outputs of OpenHands belongs to the run in the folder above', async () => {
    const row = {
      instance_id: ID,
      test_result: { git_patch: PATCH },
      metadata: { llm_config: { model: 'qwen' } },
      history: [],
    };
    const done = await importOf({
      'a/output.jsonl': [row],
      [`a/eval_outputs/${ID}/report.json`]: report(true),
      'b/output.jsonl': [{ ...row, metadata: { llm_config: { model: 'llama' } } }],
      [`b/eval_outputs/${ID}/report.json`]: report(false),
    });
    expect(told(done)).toEqual([`${ID}: llama false`, `${ID}: qwen true`]);
  });

  it('of OpenHands V1 belongs to the attempt that was chosen', async () => {
    const row = (command: string): object => ({
      ...{ instance_id: ID, test_result: { git_patch: PATCH }, metadata: null, error: null },
      history: [{ id: 1, source: 'agent', action: 'run', message: '', args: { command } }],
    });
    const done = await importOf({
      'output.critic_attempt_1.jsonl': [row('ls')],
      'output.critic_attempt_2.jsonl': [row('ls -a')],
      'output.jsonl': [row('ls -a')],
      'output.report.json': summary([ID], []),
    });
    expect(told(done)).toEqual([`${ID}: output.critic_attempt_1`, `${ID}: output.critic_attempt_2 true`]);
  });

  it('by the model of predictions that repeat a run belongs to the run', async () => {
    const step = { role: 'assistant', content: 'I look.' };
    const done = await importOf({
      'my_run/preds.json': { [ID]: prediction('org/gemini', PATCH) },
      [`my_run/${ID}/${ID}.traj.json`]: { info: { submission: PATCH }, messages: [step], instance_id: ID },
      'other.jsonl': [prediction('other', OTHER)],
      [`logs/r1/org__gemini/${ID}/report.json`]: report(true),
    });
    expect(told(done)).toEqual([`${ID}: my_run true`, `${ID}: other`]);
  });
});

describe('predictions', () => {
  it('of SWE-bench Pro have their prefix as the candidate', async () => {
    const rows = ['s1', 's2'].map((prefix) => ({ instance_id: 'instance_a-b-c', patch: PATCH, prefix }));
    const done = await importOf({ 's1_patches.json': rows.slice(0, 1), 's2_patches.json': rows.slice(1) });
    expect(told(done)).toEqual(['instance_a-b-c: s1', 'instance_a-b-c: s2']);
    expect(done.candidates).toMatchObject([{ patch: PATCH }, { patch: PATCH }]);
  });

  it('of Multi-SWE-bench have the label of its final report', async () => {
    const row = (number: number): object => ({ org: 'cli', repo: 'cli', number, fix_patch: PATCH });
    const done = await importOf({
      'gpt.jsonl': [row(1), row(2), { ...row(3), number: '3' }],
      'output/final_report.json': summary(['cli/cli:pr-1'], ['cli/cli:pr-2']),
    });
    expect(told(done)).toEqual(['cli__cli-1: gpt true', 'cli__cli-2: gpt false', 'cli__cli-3: gpt']);
    expect(done.candidates).toMatchObject([{ patch: PATCH }, { patch: PATCH }, { patch: PATCH }]);
  });
});

describe('a report of another model', () => {
  const of = (model: string): Files => ({ [`logs/run_evaluation/r/${model}/${ID}/report.json`]: report(true) });

  it.each(['B', 'A-2', 'org__A'])('in the folder of %s labels no prediction whose model is A', async (model) => {
    const done = await importOf({ 'preds.jsonl': [prediction('A', PATCH)], ...of(model) });
    expect(told(done)).toEqual([`${ID}: A`]);
    expect(done.rejected).toMatchObject([{ reason: `a label of model "${model}", which is not in the input` }]);
  });

  it('labels a prediction with an id of its own by its model', async () => {
    const own = { ...prediction('org/A', PATCH), candidate_id: 'try 1' };
    const done = await importOf({ 'preds.jsonl': [own], ...of('org__A') });
    expect(told(done)).toEqual([`${ID}: try 1 true`]);
    expect(told(await importOf({ 'preds.jsonl': [own], ...of('B') }))).toEqual([`${ID}: try 1`]);
  });
});
