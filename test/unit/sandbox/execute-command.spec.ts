import { setTimeout as sleep } from 'node:timers/promises';
import { CappedBytes } from '../../../src/core/hostile-text.js';
import { type Container, type ExecPlan, SYSTEM_PATH } from '../../../src/sandbox/container/container.js';
import { assertServed, type CpuTimes } from '../../../src/sandbox/container/command-outcome.js';
import { runRequest, type Ran } from '../../../src/sandbox/container/execute-command.js';
import { EngineDiskFullError, SandboxStarvedError } from '../../../src/core/errors/unavailable.js';
import { go, limits } from '../../fixtures/sandbox-commands.js';

const said = (text: string): CappedBytes => {
  const bytes = new CappedBytes(1_000);
  bytes.push(Buffer.from(text));
  return bytes;
};

/** A container in which every command ends so. */
function ran(exitCode: number, stderr: string, engineIsFull: boolean): Promise<Ran> {
  const container = {
    start: () =>
      Promise.resolve({
        stdout: said(''),
        stderr: said(stderr),
        exit: Promise.resolve(exitCode),
        stop: () => undefined,
      }),
    fate: () => Promise.resolve(null),
    assertAlive: () => Promise.resolve(),
    fillsDisk: () => new Promise<never>(() => undefined),
    assertRoom: () => (engineIsFull ? Promise.reject(new EngineDiskFullError('/var/lib')) : Promise.resolve()),
  } as unknown as Container;
  const prepared = { wasSingle: true, commit: 'c', ids: { uid: 0, gid: 0 }, timeout: null, programs: SYSTEM_PATH };
  const ground = { container, limits, prepared, workdir: '/', testsUser: null };
  return runRequest(ground, { argv: ['t'], deadlineS: 9 }, false, go);
}

describe('a command that fails', () => {
  it.each([
    'OSError: [Errno 28] No space left on device',
    'Error: ENOSPC: no space',
    "fatal: sha1 file '.git/index.lock' write error. Out of diskspace",
    'fatal: unable to write new index file',
    'sh: 29: echo: echo: I/O error',
  ])('where the engine has no room, with %s, is no result', async (stderr) => {
    await expect(ran(1, stderr, true)).rejects.toBeInstanceOf(EngineDiskFullError);
  });

  it('and says so where the engine has room is its own doing', async () => {
    expect((await ran(1, 'No space left on device', false)).outcome).toMatchObject({ kind: 'exited', exitCode: 1 });
  });

  it('for another reason is not asked about', async () => {
    expect((await ran(1, 'AssertionError', true)).outcome).toMatchObject({ kind: 'exited', exitCode: 1 });
  });

  it('for it was killed before it began, as where an earlier one uses up the memory, has neither passed nor been lost', async () => {
    expect(await ran(137, '', false)).toMatchObject({
      outcome: { kind: 'exited', exitCode: 137, neverStarted: true },
      isOver: false,
    });
  });
});

describe('a command that ends before its deadline, whose streams are waited for', () => {
  /** @param exit settles once they have been */
  function drainedIn(exit: Promise<number>, signal: AbortSignal): Promise<Ran> {
    const container = {
      start: ({ tapStderr, onExit }: ExecPlan) => {
        tapStderr?.(Buffer.from('bestk:0\n'));
        onExit?.();
        return Promise.resolve({ stdout: said(''), stderr: said(''), exit, stop: () => undefined });
      },
      assertAlive: () => Promise.resolve(),
      fillsDisk: () => new Promise<never>(() => undefined),
    } as unknown as Container;
    const prepared = { wasSingle: true, commit: 'c', ids: { uid: 0, gid: 0 }, timeout: null, programs: SYSTEM_PATH };
    const ground = { container, limits, prepared, workdir: '/', testsUser: null };
    return runRequest(ground, { argv: ['t'], deadlineS: 1, silenceS: 1 }, false, signal);
  }

  it('is in time however long that takes, and the wait is no part of its duration', async () => {
    const { outcome, isOver } = await drainedIn(sleep(1_200, 3), go);
    expect([outcome, isOver]).toMatchObject([{ kind: 'exited', exitCode: 3 }, false]);
    expect(outcome.durationMs).toBeLessThan(1_000);
  });

  it('can be aborted after the deadline, too', async () => {
    const stop = new AbortController();
    setTimeout(() => {
      stop.abort(new Error('enough'));
    }, 1_200);
    await expect(drainedIn(new Promise<never>(() => undefined), stop.signal)).rejects.toThrow('enough');
  });
});

describe('a command that is stopped by the wall’s clock', () => {
  const LIMITS = { cpuS: 10, deadlineS: 40 };
  const none: CpuTimes = { used: 5, waited: 100 };
  const after = (used: number, waited: number): CpuTimes => ({ used: 5 + used, waited: 100 + waited });

  it.each([
    ['had its time of the CPU', after(10, 39)],
    ['could have had it, on a machine that was idle', after(6, 3)],
    ['waited for something else, on a busy machine as on another', after(0.5, 39)],
    ['was in a container of which the kernel does not tell', null],
  ])('has been slow where it %s', (_name, times) => {
    expect(() => {
      assertServed({ before: none, after: times }, LIMITS);
    }).not.toThrow();
  });

  it('has been kept from the CPU where others computed all the time: its sandbox counts as lost', () => {
    expect(() => {
      assertServed({ before: none, after: after(6, 35) }, LIMITS);
    }).toThrow(new SandboxStarvedError('a command had 6.0 s of the CPU in 40 s'));
  });

  it('is asked about only where its CPU is limited', async () => {
    const asked: (readonly string[])[] = [];
    const times = ['1000000 0', '2500000 950000'];
    const container = {
      start: ({ argv }: { argv: readonly string[] }) => {
        const isQuestion = argv.join(' ').includes('cpuacct.usage');
        if (!isQuestion) asked.push(argv);
        const exit = isQuestion ? Promise.resolve(0) : new Promise<never>(() => undefined);
        const stdout = said(isQuestion ? (times.shift() ?? '') : '');
        return Promise.resolve({ stdout, stderr: said(''), exit, stop: () => undefined });
      },
      assertAlive: () => Promise.resolve(),
      fillsDisk: () => new Promise<never>(() => undefined),
    } as unknown as Container;
    const prepared = { wasSingle: true, commit: 'c', ids: { uid: 0, gid: 0 }, timeout: null, programs: SYSTEM_PATH };
    const ground = { container, limits, prepared, workdir: '/', testsUser: null };
    const plain = await runRequest(ground, { argv: ['t'], deadlineS: 1 }, false, go);
    expect(plain.outcome.kind).toBe('timed-out');
    const starved = runRequest(ground, { argv: ['t'], cpuS: 2, deadlineS: 1 }, false, go);
    await expect(starved).rejects.toBeInstanceOf(SandboxStarvedError);
    expect(asked.map((argv) => argv.join(' ').includes('ulimit'))).toEqual([false, true]);
    expect(times).toEqual([]);
  });
});
