import { OWNER } from '../../../src/sandbox/container/sandbox-owner.js';
import type { SandboxSession, SandboxSpec } from '../../../src/ports/sandbox.js';
import { containersOf, docker, dockerSandbox, go, preparedImagesOf, sh, spec } from './docker-harness.js';

/** What the repository holds, and every commit that git could be made to tell of. */
const LOOK = `
cat calc.py; git status --porcelain; git rev-parse HEAD
git cat-file --batch-all-objects --batch-check='%(objecttype)' | grep -c commit
git cat-file --batch-all-objects --batch | grep -a -c SECRET
ls -d .pytest_cache /etc/debian_version 2>/dev/null; true`;

describe('an image whose repository took work to be made ready', () => {
  const sandbox = dockerSandbox();

  afterEach(async () => {
    await sandbox.closeAll();
    expect(await preparedImagesOf(OWNER)).toEqual([]);
  });

  const look = async (session: SandboxSession): Promise<string> => (await sh(session, LOOK)).stdout;
  const imageOf = async (): Promise<string> => {
    const [id = ''] = await containersOf();
    return (await docker.getContainer(id).inspect()).Image;
  };
  const idOf = async (image: string): Promise<string> => (await docker.getImage(image).inspect()).Id;
  const setupPatch = [
    ...['diff --git a/calc.py b/calc.py', '--- a/calc.py', '+++ b/calc.py', '@@ -1,2 +1,2 @@'],
    ...[' def add(a, b):', '-    return a - b', '+    return a * b'],
  ].join('\n');

  it.each<[string, Partial<SandboxSpec>]>([
    ['at its own commit', {}],
    ['with a user for tests', { separatesUsers: true }],
    [
      'at another, with a set-up done and files hidden',
      { baseCommit: 'base', setupPatch, hiddenPaths: ['/etc/debian_version'] },
    ],
  ])('gives later containers what the first one had: %s', async (_, more) => {
    const wanted = { ...spec, ...more };
    const first = await sandbox.open(wanted, go);
    const had = await look(first);
    expect(await imageOf()).toBe(await idOf(spec.image));
    await sh(first, 'echo spoiled >calc.py; touch /spoiled');
    await first.close();
    // The second is known to be ready, and nobody looks.
    for (const again of [1, 2, 3]) {
      await using later = await sandbox.open({ ...wanted, purpose: `later ${String(again)}` }, go);
      expect(await preparedImagesOf(OWNER)).toEqual([await imageOf()]);
      expect(await look(later)).toBe(had);
      expect(later.baseCommit).toBe(first.baseCommit);
      expect(await sh(later, 'ls /spoiled')).toMatchObject({ stdout: '' });
    }
    expect(await preparedImagesOf(OWNER)).toHaveLength(1);
  });

  it('is kept apart for each content, and for sessions with a user for tests', async () => {
    await (await sandbox.open(spec, go)).close();
    await using set = await sandbox.open({ ...spec, setupPatch }, go);
    expect((await sh(set, 'cat calc.py')).stdout).toContain('a * b');
    await using apart = await sandbox.open({ ...spec, separatesUsers: true }, go);
    await apart.close();
    await using agent = await sandbox.open(spec, go);
    expect((await sh(agent, 'git status --porcelain --ignored; ls -a')).stdout).not.toContain('.pytest_cache');
    const [newest = ''] = await containersOf();
    // A person's image of a container counts as none of bestk's, which a sweep would remove.
    await docker.getContainer(newest).commit({ repo: 'bestk-test-mine', tag: '1' });
    try {
      expect(await preparedImagesOf(OWNER)).toHaveLength(3);
    } finally {
      await docker.getImage('bestk-test-mine:1').remove();
    }
  });

  it('is prepared anew when somebody removed what was kept', async () => {
    await (await sandbox.open(spec, go)).close();
    for (const id of await preparedImagesOf(OWNER)) await docker.getImage(id).remove();
    await using session = await sandbox.open(spec, go);
    expect(await imageOf()).toBe(await idOf(spec.image));
    expect((await sh(session, 'git rev-list --all --count')).stdout).toBe('1\n');
  });

  it('is not taken where the repository lies on a volume, which no image keeps', async () => {
    const made = await docker.createContainer({ Image: spec.image });
    const { Id: id } = (await made.commit({ changes: `VOLUME ${spec.workdir}` })) as { Id: string };
    await made.remove();
    try {
      const wanted = { ...spec, image: id };
      await (await sandbox.open(wanted, go)).close();
      await expect(sandbox.open(wanted, go)).rejects.toMatchObject({ code: 'sandbox-lost' });
      await using session = await sandbox.open(wanted, go);
      expect((await sh(session, 'cat calc.py')).stdout).toContain('a - b');
      expect(await imageOf()).toBe(id);
    } finally {
      await sandbox.closeAll();
      await docker.getImage(id).remove();
    }
  });
});
