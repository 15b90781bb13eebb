import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstProcess, podOf, PREPARED } from '../../../src/sandbox/kubernetes/pod-spec.js';
import { limits } from '../../fixtures/sandbox-commands.js';
import { cluster } from '../../system/sandbox/kubernetes-harness.js';

/** More than any disk holds, so that the counter never reports too many files. */
const DISK_MB = 1e9;

/** Arguments of all processes of this machine. */
function commandLines(): string[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.flatMap((id) => {
    try {
      return [readFileSync(`/proc/${id}/cmdline`, 'utf8')];
    } catch {
      return [];
    }
  });
}

describe('the first process of a pod', () => {
  let memory: string;
  let running: ReturnType<typeof spawn> | undefined;

  beforeEach(() => {
    memory = mkdtempSync(join(tmpdir(), 'bestk-first-'));
  });

  afterEach(() => {
    if (running?.pid !== undefined) process.kill(-running.pid, 'SIGKILL');
    rmSync(memory, { recursive: true, force: true });
  });

  const here = (argv: readonly string[]): string[] => argv.map((word) => word.replaceAll('/dev/shm', memory));

  it('shows no argument of the preparation once its result is read', () => {
    const secret = randomUUID();
    const preparation = ['/bin/sh', '-c', 'echo "$# said"; echo wrong >&2; exit 3', 'sh', 'workdir', secret];
    const [program = '', ...args] = here(firstProcess(60, DISK_MB, preparation));
    running = spawn(program, args, { detached: true, stdio: 'ignore' });
    const [shell = '', ...collect] = here(PREPARED);
    const read = (): string => execFileSync(shell, collect, { encoding: 'utf8', stdio: 'pipe' });
    expect(read).toThrow(expect.objectContaining({ status: 3, stdout: '2 said\n', stderr: 'wrong\n' }) as Error);
    expect(running.exitCode).toBeNull();
    expect(commandLines().filter((line) => line.includes(secret))).toEqual([]);
    expect(commandLines().filter((line) => line.includes(memory))).not.toEqual([]);
  });
});

/** What a kubelet makes of a word of a command (`third_party/forked/golang/expansion` of Kubernetes). */
function expanded(word: string): string {
  const variables = new Map([['KUBERNETES_SERVICE_HOST', '10.0.0.1']]);
  return word.replaceAll(/\$(?:\$|\(([^)]*)\)|\(|[^])/gu, (read, name?: string) => {
    if (read === '$$') return '$';
    if (name !== undefined) return variables.get(name) ?? read;
    // It takes one byte for a character.
    return read.startsWith('$(') ? read : `$${Buffer.from(read.slice(1)).toString('latin1')}`;
  });
}

it('the words of a pod’s command arrive as they are', () => {
  const preparation = [
    'sh',
    '-c',
    'a=$$ b=$(KUBERNETES_SERVICE_HOST) c=$(free) d=$(',
    '$é',
    '$1',
    '$&',
    '$$(A)',
    'end$',
  ];
  const plan = { name: 'p', image: 'i:1', purpose: 'test', separatesUsers: false, isOwned: false };
  const pod = podOf({ ...plan, limits, ttlS: 60, preparation }, cluster);
  const command = pod.spec?.containers[0]?.command ?? [];
  expect(command.map(expanded)).toEqual(firstProcess(120, limits.diskMb, preparation));
});
