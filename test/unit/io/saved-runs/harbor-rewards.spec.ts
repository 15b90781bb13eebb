import { imported, SavedFolder } from './import-world.js';

const TRAJECTORY = { schema_version: 'ATIF-v1.2', steps: [{ step_id: 1, source: 'agent', message: 'Done.' }] };

/** The label of a Harbor trial whose verifier left these files. */
async function labelOf(verifier: Readonly<Record<string, string>>): Promise<{ resolved: unknown; sealed: string }> {
  const folder = new SavedFolder();
  folder.json('task__xyz/agent/trajectory.json', TRAJECTORY);
  for (const [name, content] of Object.entries(verifier)) folder.write(`task__xyz/verifier/${name}`, content);
  const { candidates, labels, sealed } = await imported(folder.path);
  expect(candidates).toHaveLength(1);
  return { resolved: labels[0]?.resolved ?? null, sealed };
}

describe("a Harbor trial's label", () => {
  it.each([
    ['1', true],
    ['1\n', true],
    [' 1.0 \r\n', true],
    ['1e0', true],
    ['+1.', true],
    ['2', true],
    ['0', false],
    ['0.0\n', false],
    ['0.5', false],
    ['.5', false],
    ['-1', false],
  ])('is what reward.txt says: %j', async (text, resolved) => {
    expect(await labelOf({ 'reward.txt': text })).toMatchObject({ resolved });
  });

  it.each([
    [''],
    [' '],
    ['\n'],
    ['\uFEFF'],
    ['abc'],
    ['nan'],
    ['inf'],
    ['Infinity'],
    ['-Infinity'],
    ['0x1'],
    ['1,0'],
    ['0 0'],
    ['.'],
  ])('is unknown, not false, when reward.txt holds no number: %j', async (text) => {
    expect(await labelOf({ 'reward.txt': text })).toMatchObject({ resolved: null });
  });

  it.each([
    [{ reward: 1 }, undefined, true],
    [{ reward: 0 }, '1', false],
    [{ reward: 0.5, speed: 1 }, undefined, false],
    [{ accuracy: 1, note: 'all', passed: true }, undefined, true],
    [{ correctness: 1, speed: 0 }, undefined, null],
    [{ correctness: 0, speed: 0 }, '1', true],
    [{ correctness: 0, speed: 0 }, '', null],
    [{ reward: '1' }, undefined, null],
    [{ reward: null }, '0', false],
    [{}, undefined, null],
    [{}, '1', true],
    [[1], '1', null],
    [1, '1', null],
  ])('is what reward.json says, beside a reward.txt as Harbor reads it: %j %j', async (report, text, resolved) => {
    const files = { 'reward.json': JSON.stringify(report), ...(text === undefined ? {} : { 'reward.txt': text }) };
    expect(await labelOf(files)).toMatchObject({ resolved });
  });

  it.each([[''], [' '], ['{"reward": 0'], ['{"reward": NaN}']])(
    'is unknown when reward.json cannot be read: %j',
    async (report) => {
      expect(await labelOf({ 'reward.json': report, 'reward.txt': '0' })).toMatchObject({ resolved: null });
    },
  );

  it('is unknown when the verifier left nothing', async () => {
    expect(await labelOf({})).toMatchObject({ resolved: null });
  });

  it('keeps what could not be read, sealed', async () => {
    expect((await labelOf({ 'reward.txt': 'verifier crashed' })).sealed).toContain('verifier crashed');
  });
});
