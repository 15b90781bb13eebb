import { prepareCommand } from '../../../src/sandbox/container/own-commands.js';
import { type SandboxSession } from '../../../src/ports/sandbox.js';
import { FIXTURE_COMMIT, FIXTURE_FIX_COMMIT } from '../../fixtures/fixture-image.js';
import { dockerSandbox, go, sh, spec } from './docker-harness.js';

/** Everything git could still be made to tell: refs, reflogs, every object however unreachable, stray files. */
const CONFESS = `
git rev-list --all --count
git for-each-ref --format='%(refname)'
git remote; git stash list; git reflog; git tag
git cat-file --batch-all-objects --batch-check='%(objecttype)' | grep -c commit
git cat-file --batch-all-objects --batch | grep -a -o 'SECRET-[A-Z]*'
find . -path '*/.git/*' -type f | xargs grep -a -l -e SECRET -e "${FIXTURE_COMMIT}"
find . -name .git; find .git -maxdepth 1 | sort; git fsck --full --strict 2>&1; git status --porcelain
true`;
const NOTHING_TO_TELL = [
  ...['1', 'refs/heads/main', '1'],
  ...['./.git', '.git', '.git/HEAD', '.git/config', '.git/index', '.git/info', '.git/objects', '.git/refs', ''],
].join('\n');

describe('the repository of a fresh sandbox', () => {
  const sandbox = dockerSandbox();

  afterAll(() => sandbox.closeAll());

  const confess = async (session: SandboxSession): Promise<string> => (await sh(session, CONFESS)).stdout;
  /** Prepares the repository of an open session again, after it was made worse. */
  const prepareAgain = async (session: SandboxSession): Promise<string> => {
    const outcome = await session.exec({ argv: prepareCommand(spec, false), deadlineS: 60 }, go);
    expect(outcome).toMatchObject({ exitCode: 0 });
    return outcome.stdout.split(' ')[0] ?? '';
  };

  it('is one orphan commit of the image’s HEAD, with no word of past or future', async () => {
    await using session = await sandbox.open(spec, go);
    expect(await confess(session)).toBe(NOTHING_TO_TELL);
    expect((await sh(session, 'git log --format="%an %ae %ad %s" --date=short; cat calc.py')).stdout).toBe(
      'bestk bestk@localhost 2000-01-01 base\ndef add(a, b):\n    return a - b\n',
    );
  });

  it('is at the base commit asked for', async () => {
    await using session = await sandbox.open({ ...spec, baseCommit: FIXTURE_FIX_COMMIT }, go);
    expect((await sh(session, 'cat calc.py; git rev-list --all --count')).stdout).toMatch(/a \+ b.*\n1\n$/);
    await using short = await sandbox.open({ ...spec, baseCommit: 'base' }, go);
    expect((await sh(short, 'cat calc.py')).stdout).toMatch(/a - b/);
  });

  it('has its set-up done and what is hidden removed before that, with nothing left of either', async () => {
    const setupPatch = [
      'diff --git a/calc.py b/calc.py',
      ...['--- a/calc.py', '+++ b/calc.py', '@@ -1,2 +1,2 @@'],
      ...[' def add(a, b):', '-    return a - b', '+    return a * b'],
    ].join('\n');
    const hiddenPaths = ['tests/test_calc.py', '/etc/hostname-of-nobody', '/etc/debian_version'];
    await using session = await sandbox.open({ ...spec, setupPatch, hiddenPaths }, go);
    expect((await sh(session, 'cat calc.py; git ls-files tests; ls /etc/debian_version')).stdout).toBe(
      'def add(a, b):\n    return a * b\n',
    );
    const all = 'git cat-file --batch-all-objects --batch | grep -a -c "a - b"';
    expect((await sh(session, `git status --porcelain; ${all}`)).stdout).toBe('0\n');
    const wrong = sandbox.open({ ...spec, setupPatch: setupPatch.replaceAll('calc', 'nope') }, go);
    await expect(wrong).rejects.toMatchObject({ place: { field: 'environment.setup_patch' } });
  });

  it.each(['-h', '--all', 'HEAD; touch /pwned', '$(touch /pwned)'])('takes "%s" for no commit', async (baseCommit) => {
    const wrong = sandbox.open({ ...spec, baseCommit }, go);
    await expect(wrong).rejects.toMatchObject({ place: { field: 'environment.base_commit' } });
  });

  it('keeps ignored files untouched and untracked, and tracked ones tracked', async () => {
    await using session = await sandbox.open(spec, go);
    const { stdout } = await sh(session, 'cat build/artefact.bin; git ls-files; git status --porcelain --ignored');
    expect(stdout).toBe('artefact\n.gitignore\ncalc.py\nkept.log\ntests/test_calc.py\n!! build/\n');
  });

  it('is the same commit every time, and is recognised as clean', async () => {
    await using session = await sandbox.open(spec, go);
    const first = (await sh(session, 'git rev-parse HEAD')).stdout;
    expect(await prepareAgain(session)).toBe('single');
    await using other = await sandbox.open(spec, go);
    expect((await sh(other, 'git rev-parse HEAD')).stdout).toBe(first);
  });

  it('is made where there was none, and found above the workdir', async () => {
    await using none = await sandbox.open({ ...spec, workdir: '/etc/apt' }, go);
    expect((await sh(none, 'pwd; git rev-list --all --count; git status --porcelain')).stdout).toBe('/etc/apt\n1\n');
    await using below = await sandbox.open({ ...spec, workdir: '/testbed/tests' }, go);
    expect((await sh(below, 'cd /testbed && git rev-list --all --count && git tag')).stdout).toBe('1\n');
  });

  it.each([
    ['an uncommitted file', 'echo x >new.txt', 'pack'],
    ['an unreachable object', 'echo SECRET-BLOB | git hash-object -w --stdin', 'pack'],
    ['a second commit', 'git commit -q --allow-empty -m SECRET-MESSAGE', 'pack'],
    [
      'hooks, remotes and reflogs',
      'git remote add o SECRET-URL; mkdir -p .git/logs; echo SECRET-LOG >.git/logs/HEAD',
      'single',
    ],
    [
      'alternates',
      'git init -q --bare /else; echo SECRET-ELSE | git -C /else hash-object -w --stdin; echo /else/objects >.git/objects/info/alternates',
      'pack',
    ],
    [
      'a nested repository',
      'cp -r .git /n; mkdir sub; mv /n sub/.git; cd sub; git commit -q --allow-empty -m SECRET-NESTED; git tag SECRET',
      'init',
    ],
    ['a linked work tree', 'mv .git /real.git; echo "gitdir: /real.git" >.git', 'init'],
    ['an extension of the format', 'git config extensions.worktreeConfig true', 'init'],
    ['a broken repository', 'rm -rf .git/objects/pack', 'init'],
  ])('is cleaned of %s', async (_, script, how) => {
    await using session = await sandbox.open(spec, go);
    const spoiled = await sh(session, `mkdir -p .git/objects/info; ${script}`);
    expect(spoiled).toMatchObject({ exitCode: 0 });
    expect(await prepareAgain(session)).toBe(how);
    expect(await confess(session)).toBe(NOTHING_TO_TELL);
    expect((await sh(session, 'git ls-files')).stdout).toContain('calc.py\nkept.log\n');
  });

  it('runs no hook, filter or file watcher of the image', async () => {
    await using session = await sandbox.open(spec, go);
    const planted = `mkdir -p .git/hooks; for h in pre-commit post-checkout post-index-change reference-transaction; do
      printf '#!/bin/sh\\ntouch /pwned\\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done
      git config core.fsmonitor 'touch /pwned'; echo more >more.txt`;
    await sh(session, planted);
    expect(await prepareAgain(session)).toBe('pack');
    expect(await session.readFile('/pwned', 1, go)).toBeNull();
  });
});
