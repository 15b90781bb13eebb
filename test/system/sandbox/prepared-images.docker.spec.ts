import { LABEL, OWNER } from '../../../src/sandbox/container/sandbox-owner.js';
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
    return (await docker.getContainer(id).inspect()).Config.Image;
  };
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
    expect(await imageOf()).toBe(spec.image);
    await sh(first, 'echo spoiled >calc.py; touch /spoiled');
    await first.close();
    for (const again of [1, 2]) {
      await using later = await sandbox.open({ ...wanted, purpose: `later ${String(again)}` }, go);
      expect(await imageOf()).toMatch(/^bestk-prepared:/);
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
    expect(await preparedImagesOf(OWNER)).toHaveLength(3);
  });

  it('is prepared anew when somebody removed what was kept', async () => {
    await (await sandbox.open(spec, go)).close();
    for (const id of await preparedImagesOf(OWNER)) await docker.getImage(id).remove();
    await using session = await sandbox.open(spec, go);
    expect(await imageOf()).toBe(spec.image);
    expect((await sh(session, 'git rev-list --all --count')).stdout).toBe('1\n');
  });

  it('is not taken where it holds another repository than was made ready', async () => {
    await (await sandbox.open(spec, go)).close();
    const [id = ''] = await preparedImagesOf(OWNER);
    const { RepoTags } = await docker.getImage(id).inspect();
    const [repo, tag] = (RepoTags[0] ?? '').split(':');
    const other = await docker.createContainer({
      Image: spec.image,
      Entrypoint: ['git', 'checkout', '-q', '-f', 'v1'],
    });
    await other.start();
    await other.wait();
    const labels = { [LABEL.mark]: '1', [LABEL.owner]: OWNER, 'bestk.prepared': '1' };
    const changes = Object.entries(labels).map(([name, value]) => `LABEL ${name}=${value}`);
    await other.commit({ repo, tag, changes: changes.join('\n') });
    await other.remove();
    await docker.getImage(id).remove();
    await expect(sandbox.open(spec, go)).rejects.toMatchObject({ code: 'sandbox-lost' });
    await using session = await sandbox.open(spec, go);
    expect((await sh(session, 'cat calc.py')).stdout).toContain('a - b');
    expect(await imageOf()).toBe(spec.image);
  });
});
