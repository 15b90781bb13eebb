import { ImportedFolder } from '../../../../src/io/saved-runs/imported-folder.js';
import { imported, SavedFolder } from './import-world.js';

const row = (id: string, more: object): string => JSON.stringify({ instance_id: 'a__b-1', candidate_id: id, ...more });
const PATCH = 'diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-1\n+2\n';
const TRAJECTORY = { steps: [{ thought: 't', action: 'a', observation: 'o' }], exit_reason: 'agent' };
const IDS = ['rollout-1', 'rollout-2'];

describe('the folder that solve left', () => {
  const solved = new SavedFolder();
  const lines = (more: object): string => IDS.map((id) => `${row(id, more)}\n`).join('');
  beforeAll(() => {
    solved.write('candidates.jsonl', lines({ patch: PATCH, trajectory: TRAJECTORY }));
    solved.write('predictions.jsonl', lines({ model_patch: PATCH, model_name_or_path: 'agent' }));
    solved.write('verdicts.jsonl', lines({ measure: 'regression', kind: 'abstained' }));
    solved.json('run.json', { request: {} });
    solved.json('selection.json', { candidate_id: 'rollout-1' });
    solved.json('usage.json', {});
  });

  it('is imported with each candidate once, with its steps', async () => {
    const { candidates, trajectories, rejected } = await imported(solved.path);
    expect(candidates.map(({ candidate_id }) => candidate_id)).toEqual(IDS);
    expect(trajectories).toHaveLength(2);
    expect(rejected).toEqual([]);
  });

  it('has files that are read when they are named', async () => {
    const { candidates } = await imported(`${solved.path}/predictions.jsonl`);
    expect(candidates).toHaveLength(2);
  });

  it('is read in full where its candidates are missing', async () => {
    const other = new SavedFolder();
    other.json('run.json', { request: {} });
    other.write('verdicts.jsonl', lines({ measure: 'regression', kind: 'abstained' }));
    expect((await imported(other.path)).rejected.length).toBeGreaterThan(0);
  });
});

describe('an import’s folder', () => {
  it('gives each instance its own candidates, wherever their lines stand', async () => {
    const folder = new SavedFolder();
    const of = (instance_id: string, candidate_id: string): string =>
      `${JSON.stringify({ instance_id, candidate_id, patch: `${PATCH}# ü ${candidate_id}` })}\n`;
    const ids = ['one', 'one', 'two', 'one', 'two', 'two'];
    folder.write('candidates.jsonl', ids.map((id, n) => of(id, `c${n}`)).join(''));
    for (const name of ['trajectories', 'issues']) folder.write(`${name}.jsonl`, '');
    const imported = await ImportedFolder.open(folder.path);
    const read = async (id: string): Promise<string[]> =>
      (await imported.candidates(id)).map(({ candidate_id, patch }) => `${candidate_id} ${patch.slice(PATCH.length)}`);
    expect(await read('one')).toEqual(['c0 # ü c0', 'c1 # ü c1', 'c3 # ü c3']);
    expect(await read('two')).toEqual(['c2 # ü c2', 'c4 # ü c4', 'c5 # ü c5']);
    expect(await read('none')).toEqual([]);
    expect([imported.has('one'), imported.has('none')]).toEqual([true, false]);
  });
});
