import { execFileSync } from 'node:child_process';
import type { Verdict } from '../../../../src/core/run/verdict.js';
import { DockerSandbox } from '../../../../src/sandbox/docker/sandbox.js';
import { told, unguessable, verifierOn } from '../../../fakes/verifier-on.js';
import { calcPatch, calcTest, calculatorIssue, candidate, RIGHT } from '../../../fixtures/calculator.js';
import { FIXTURE_IMAGE } from '../../../fixtures/fixture-image.js';
import { newFile } from '../../../fixtures/forgers/forger.js';
import { removeImage } from '../../../fixtures/own-user-image.js';

/*
 * Folders of PATH may lead into the repository by links of the image or of the repository, and need not exist on base;
 * git ignores folders that hold source, too.
 */

const IMAGE = 'bestk-test/links-into-repository:1';
const RECIPE = `FROM ${FIXTURE_IMAGE}
WORKDIR /testbed
RUN mkdir -p scripts v1/bin own lib && touch scripts/a v1/bin/a lib/__init__.py && ln -s scripts bin && ln -s v1 current \\
  && ln -s /usr/bin/python3 own/python3 && ln -s /testbed /opt/app && printf 'lib/\\nmade/\\n' >.gitignore \\
  && git add -A && git add -f lib && git -c user.name=a -c user.email=a@a commit -qm more && mkdir made && touch made/start.py
ENV PATH=/testbed/bin:/testbed/current/bin:/testbed/later/./bin/:/opt/app/tools:/testbed/own:/usr/local/bin:/usr/bin:/bin
`;

const BROKEN = calcPatch('def add(a, b):', '    return 7');
const MEND = String.raw`[ ! -w /testbed/calc.py ] || printf 'def add(a, b):\n    return a + b\n' >/testbed/calc.py`;

function plain(path: string): string {
  return newFile(path, '#!/bin/sh', MEND, 'exec /usr/bin/python3 "$@"');
}
function program(path: string): string {
  return plain(path).replace('new file mode 100644', 'new file mode 100755');
}
const MADE_EXECUTABLE = (path: string): string => `diff --git a/${path} b/${path}\nold mode 100644\nnew mode 100755\n`;

function link(path: string, from: string, to: string | null): string {
  const isGone = to === null;
  return [
    `diff --git a/${path} b/${path}`,
    ...(isGone ? ['deleted file mode 120000'] : ['index 1111111..2222222 120000']),
    ...[`--- a/${path}`, `+++ ${isGone ? '/dev/null' : `b/${path}`}`, isGone ? '@@ -1 +0,0 @@' : '@@ -1 +1 @@'],
    ...[`-${from}`, '\\ No newline at end of file'],
    ...(isGone ? [] : [`+${to}`, '\\ No newline at end of file']),
    '',
  ].join('\n');
}

const ATTACKS: readonly (readonly [name: string, patch: string])[] = [
  ['adds a program and makes it executable after that', plain('scripts/python3') + MADE_EXECUTABLE('scripts/python3')],
  ['puts a folder in the place of a link', link('bin', 'scripts', null) + program('bin/python3')],
  ['points a link above a folder of PATH elsewhere', link('current', 'v1', 'v2') + program('v2/bin/python3')],
  ['adds a folder of PATH that is not written plainly', program('later/bin/python3')],
  ['adds a folder of PATH that the image reaches by a link', program('tools/python3')],
  ['points the interpreter elsewhere', link('own/python3', '/usr/bin/python3', '../more') + program('more')],
];

const HONEST: readonly (readonly [name: string, patch: string])[] = [
  [
    'adds source beside other source in a folder that git ignores',
    calcPatch('def add(a, b):', '    from lib.sums import total; return total(a, b)') +
      newFile('lib/sums.py', 'def total(a, b):', '    return a + b'),
  ],
  [
    'adds a program of a new name',
    calcPatch(
      'def add(a, b):',
      '    import subprocess; return int(subprocess.check_output(["sums", str(a), str(b)]))',
    ) + newFile('scripts/sums', '#!/bin/sh', 'echo $(($1 + $2))').replace('mode 100644', 'mode 100755'),
  ],
];

describe('a patch in a repository that folders of PATH lead into', () => {
  const limits = { cpus: 1, memoryMb: 512, diskMb: 256, pids: 64, outputBytes: 65_536 };
  const sandbox = new DockerSandbox({ concurrency: 2, limits, ttlS: 900 });
  let verdicts: readonly Verdict[];

  beforeAll(async () => {
    const env = { ...process.env, DOCKER_BUILDKIT: '0' };
    execFileSync('docker', ['build', '-q', '--network', 'none', '-t', IMAGE, '-'], { input: RECIPE, env });
    const environment = { ...calculatorIssue.environment, image: IMAGE, test_timeout_s: 120 };
    const candidates = [
      candidate('right', RIGHT),
      candidate('broken', BROKEN),
      candidate('behind a link', RIGHT + newFile('bin/more', 'a')),
      candidate('with a file that git ignores', RIGHT + newFile('made/notes.txt', 'a')),
      ...HONEST.map(([name, patch]) => candidate(name, patch)),
      ...ATTACKS.map(([name, patch]) => candidate(name, BROKEN + patch)),
    ];
    const tests = [calcTest('a', 'add(2, 3) == 5'), calcTest('b', 'add(-2, 3) == 1')];
    const verifier = verifierOn(sandbox, { nonce: unguessable });
    const issue = { ...calculatorIssue, environment };
    verdicts = await verifier.verify({ issue, candidates, tests }, new AbortController().signal);
  }, 900_000);

  afterAll(async () => {
    await sandbox.closeAll();
    removeImage(IMAGE);
  });

  it.each(['right', ...HONEST.map(([name]) => name)])('gets what it deserves if it %s', (name) => {
    expect([name, told(verdicts)[name]]).toEqual([name, { regression: 1, reproduction: 2 }]);
  });

  it('sets apart what git ignores, although another patch has a file behind a link', () => {
    const apart = verdicts.filter(({ evidence }) => evidence.set_apart !== undefined);
    expect(told(verdicts)).toMatchObject({ 'behind a link': { regression: 'does-not-apply' } });
    expect(apart.map(({ candidate_id }) => candidate_id)).toContain('with a file that git ignores');
  });

  it.each(ATTACKS.map(([name]) => name))('gains nothing if it %s', (name) => {
    expect([name, told(verdicts)[name]]).toEqual([name, { regression: 0, reproduction: 0 }]);
  });
});
