import { execFileSync } from 'node:child_process';
import { FIXTURE_IMAGE } from '../../fixtures/fixture-image.js';
import { removeImage } from '../../fixtures/own-user-image.js';
import { go, sh, spec } from '../../fixtures/sandbox-commands.js';
import { dockerSandbox } from './docker-harness.js';

const IMAGE = 'bestk-test/read-only-repository:1';
const RECIPES: readonly (readonly [string, string])[] = [
  ['all of its files', 'chmod -R a-w /testbed/* /testbed'],
  ['a file', 'chmod a-w /testbed/calc.py'],
  ['a folder', 'mkdir -p /testbed/new/deep && touch /testbed/new/deep/a && chmod -R a-w /testbed/new'],
  ['the root', 'chmod a-w /testbed'],
];
const CHANGE =
  'echo "# changed" >>calc.py && mkdir -p new/deep && echo b >new/deep/b && git add calc.py new && git status --short -uno';

describe('a repository that its image holds read-only', () => {
  const sandbox = dockerSandbox();

  afterAll(async () => {
    await sandbox.closeAll();
    removeImage(IMAGE);
  });

  it.each(RECIPES)('can be changed, and is clean before that: %s', async (_, command) => {
    const env = { ...process.env, DOCKER_BUILDKIT: '0' };
    const recipe = `FROM ${FIXTURE_IMAGE}\nRUN ${command}\n`;
    execFileSync('docker', ['build', '-q', '--network', 'none', '-t', IMAGE, '-'], { input: recipe, env });
    await using session = await sandbox.open({ ...spec, image: IMAGE, separatesUsers: true }, go);
    expect((await sh(session, 'git status --short -uno')).stdout).toBe('');
    const changed = await session.exec({ argv: ['sh', '-c', CHANGE], as: 'root', deadlineS: 30 }, go);
    expect(changed).toMatchObject({ exitCode: 0, stdout: 'M  calc.py\nA  new/deep/b\n' });
  });
});
