import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_PATH } from '../../../src/sandbox/container/container.js';
import { wrapped } from '../../../src/sandbox/kubernetes/exec.js';
import { firstProcess } from '../../../src/sandbox/kubernetes/pod-spec.js';

const PROGRAMS = 'cat df find head mkfifo python3 rm setpriv sh sleep tail true wc'.split(' ');

describe('what a pod runs as root beside a patch that adds programs to a folder of PATH', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bestk-pod-'));
    mkdirSync(join(folder, 'bin'));
    for (const name of PROGRAMS) {
      writeFileSync(join(folder, 'bin', name), `#!/bin/sh\necho ${name} >>${folder}/ran\nexit 1\n`, { mode: 0o755 });
    }
    env = { ...process.env, PATH: `${folder}/bin:${process.env.PATH ?? ''}` };
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const ran = (): string => (existsSync(`${folder}/ran`) ? readFileSync(`${folder}/ran`, 'utf8') : '');
  const target = { maxFileBytes: 1_048_576, programs: SYSTEM_PATH };

  it('counts the bytes of stdin by the system’s program', () => {
    const plan = { argv: ['/bin/cat'], stdin: Buffer.from('input'), outputBytes: 99 };
    const [shell = '', ...words] = wrapped(plan, target).argv;
    const { stdout } = spawnSync(shell, words, { env, input: 'input and more', encoding: 'utf8' });
    expect([stdout.split('\x1e')[0], ran()]).toEqual(['input', '']);
  });

  it('changes the user by the system’s program', () => {
    const plan = { argv: ['/bin/sh', '-c', ':'], user: { uid: 59_999, gid: 59_999 }, outputBytes: 99 };
    const [shell = '', ...words] = wrapped(plan, target).argv;
    spawnSync(shell, words, { env });
    expect(ran()).toBe('');
  });

  it('lets the command itself find the image’s programs', () => {
    const [shell = '', ...words] = wrapped({ argv: ['/bin/sh', '-c', 'tail'], outputBytes: 99 }, target).argv;
    spawnSync(shell, words, { env });
    expect(ran()).toBe('tail\n');
  });

  it('waits and counts files by the system’s programs', async () => {
    const [shell = '', ...words] = firstProcess(600, 1e9, []).map((word) => word.replaceAll('/dev/shm', folder));
    const first = spawn(shell, words, { env, detached: true, stdio: 'ignore' });
    const children = (): string =>
      readFileSync(`/proc/${String(first.pid)}/task/${String(first.pid)}/children`, 'utf8');
    const isWaiting = (): boolean =>
      children()
        .split(' ')
        .filter((id) => id !== '')
        .some((id) => readFileSync(`/proc/${id}/cmdline`, 'utf8').endsWith('sleep\x00600\x00'));
    while (!isWaiting() && first.exitCode === null && ran() === '') await sleep(20);
    process.kill(-(first.pid ?? 0), 'SIGKILL');
    expect(ran()).toBe('');
    expect(first.exitCode).toBeNull();
  });
});
