import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstProcess, PREPARED } from '../../../src/sandbox/kubernetes/pod-spec.js';

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
