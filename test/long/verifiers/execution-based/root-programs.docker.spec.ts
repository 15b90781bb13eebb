import { execFileSync } from 'node:child_process';
import type { Verdict } from '../../../../src/core/run/verdict.js';
import { DockerSandbox } from '../../../../src/sandbox/docker/sandbox.js';
import { told, unguessable, verifierOn } from '../../../fakes/verifier-on.js';
import { calcPatch, calcTest, calculatorIssue, candidate, RIGHT } from '../../../fixtures/calculator.js';
import { FIXTURE_IMAGE } from '../../../fixtures/fixture-image.js';
import { newFile } from '../../../fixtures/forgers/forger.js';
import { removeImage } from '../../../fixtures/own-user-image.js';

/*
 * In images like R2E-Gym's, the interpreter and folders of PATH are in the repository. A patch that gets a program or
 * module of its own run as root mends the library for the tests alone.
 */

const IMAGE = 'bestk-test/interpreter-in-repository:1';
const RECIPE = `FROM ${FIXTURE_IMAGE}
WORKDIR /testbed
RUN python3 -m venv --without-pip --system-site-packages .venv && mkdir tools && printf '#!/bin/sh\\nexec /bin/grep "$@"\\n' >tools/grep && chmod +x tools/grep && printf '.venv\\nmade\\n' >>.git/info/exclude \\
  && mkdir made && printf '/testbed/made\\nimport start\\n' >"$(echo .venv/lib/python3*/site-packages)/local.pth" && touch made/start.py
ENV PATH=/testbed/.venv/bin:/testbed/tools:.:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
`;

const BROKEN = calcPatch('def add(a, b):', '    return 7');
const MEND = String.raw`[ ! -w /testbed/calc.py ] || printf 'def add(a, b):\n    return a + b\n' >/testbed/calc.py`;
const MENDING_MODULE = [
  'import os',
  'if os.access("/testbed/calc.py", os.W_OK): open("/testbed/calc.py", "w").write("def add(a, b):\\n    return a + b\\n")',
];

function program(path: string, real: string): string {
  const added = newFile(path, '#!/bin/sh', MEND, `exec ${real} "$@"`);
  return added.replace('new file mode 100644', 'new file mode 100755');
}

const WITHOUT_LINK = [
  'diff --git a/.venv/bin/python3 b/.venv/bin/python3',
  ...['deleted file mode 120000', '--- a/.venv/bin/python3', '+++ /dev/null', '@@ -1 +0,0 @@'],
  ...['-/usr/bin/python3', '\\ No newline at end of file', ''],
].join('\n');

const CHANGED_TOOL = [
  ...['diff --git a/tools/grep b/tools/grep', '--- a/tools/grep', '+++ b/tools/grep', '@@ -1,2 +1,3 @@'],
  ...[' #!/bin/sh', `+${MEND}`, ' exec /bin/grep "$@"', ''],
].join('\n');

const ATTACKS: readonly (readonly [name: string, patch: string])[] = [
  ['adds a shell to the virtual environment', program('.venv/bin/sh', '/bin/sh')],
  ['adds a shell to a folder of PATH that git tracks', program('tools/sh', '/bin/sh')],
  ['adds a shell to the repository’s root, which is on PATH', program('sh', '/bin/sh')],
  ['adds what commands of bestk need', program('tools/sed', '/bin/sed') + program('tools/tr', '/usr/bin/tr')],
  ['changes a program that git tracks', CHANGED_TOOL],
  ['replaces the interpreter', WITHOUT_LINK + program('.venv/bin/python3', '/usr/bin/python3')],
  [
    'adds what the interpreter loads',
    newFile('.venv/lib/python3.11/site-packages/sitecustomize.py', ...MENDING_MODULE),
  ],
  [
    'changes what the interpreter loads, which git ignores',
    newFile('made/start.py', ...MENDING_MODULE).replace('new file mode 100644\n--- /dev/null', '--- a/made/start.py'),
  ],
];

describe('a patch beside an interpreter in the repository', () => {
  const limits = { cpus: 1, memoryMb: 512, diskMb: 256, pids: 64, outputBytes: 65_536 };
  const sandbox = new DockerSandbox({ concurrency: 2, limits, ttlS: 900 });
  let verdicts: readonly Verdict[];

  beforeAll(async () => {
    const env = { ...process.env, DOCKER_BUILDKIT: '0' };
    execFileSync('docker', ['build', '-q', '--network', 'none', '-t', IMAGE, '-'], { input: RECIPE, env });
    const environment = { ...calculatorIssue.environment, image: IMAGE, test_timeout_s: 120 };
    const candidates = [
      candidate('right', RIGHT),
      candidate('right, with a file that git ignores', RIGHT + newFile('made/notes.txt', 'left behind')),
      candidate('broken', BROKEN),
      ...ATTACKS.map(([name, patch]) => candidate(name, BROKEN + patch)),
    ];
    const tests = [
      calcTest('a', 'add(2, 3) == 5'),
      calcTest('b', 'add(-2, 3) == 1'),
      calcTest('c', 'add(10, 20) == 30'),
    ];
    const verifier = verifierOn(sandbox, { nonce: unguessable });
    const issue = { ...calculatorIssue, environment };
    verdicts = await verifier.verify({ issue, candidates, tests }, new AbortController().signal);
  }, 900_000);

  afterAll(async () => {
    await sandbox.closeAll();
    removeImage(IMAGE);
  });

  it('gets what it deserves if it is right, and loses nothing by a file that git ignores', () => {
    const whole = { regression: 1, reproduction: 3 };
    expect(told(verdicts)).toMatchObject({ right: whole, 'right, with a file that git ignores': whole });
    const apart = verdicts.filter(({ evidence }) => evidence.set_apart !== undefined);
    expect(apart.map(({ candidate_id }) => candidate_id)).toContain('right, with a file that git ignores');
    expect(apart.map(({ candidate_id }) => candidate_id)).not.toContain('right');
  });

  it.each(ATTACKS.map(([name]) => name))('gains nothing if it %s', (name) => {
    expect([name, told(verdicts)[name]]).toEqual([name, { regression: 0, reproduction: 0 }]);
  });
});
