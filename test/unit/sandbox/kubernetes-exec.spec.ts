import {
  type Container,
  type ExecPlan,
  QUIET_MS,
  type RunningExec,
  SYSTEM_PATH,
} from '../../../src/sandbox/container/container.js';
import { runRequest } from '../../../src/sandbox/container/execute-command.js';
import { KubernetesClient } from '../../../src/sandbox/kubernetes/client.js';
import { startExec } from '../../../src/sandbox/kubernetes/exec.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { fakeApiServer, type FakeApiOptions, type FakeApiServer, type ServedExec } from '../../fakes/exec-server.js';
import { go, limits } from '../../fixtures/sandbox-commands.js';
import { cluster } from '../../system/sandbox/kubernetes-harness.js';

const V4 = 'v4.channel.k8s.io';
const V5 = 'v5.channel.k8s.io';
const SUCCESS = Buffer.from('{"status":"Success"}');
const PING_MS = 100;

/** What the server says when the command ended with `code`. */
function failure(code: number): Buffer {
  const causes = [{ reason: 'ExitCode', message: String(code) }];
  return Buffer.from(JSON.stringify({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes } }));
}

/** The notice that the shell around the command leaves on both streams; its mark is the first argument of the script. */
function notice({ command }: ServedExec, code: number): Buffer {
  return Buffer.from(`\x1ebestk-exit ${command[4] ?? ''} ${String(code)}\x1e`);
}

function tellEnd(exec: ServedExec, code: number): void {
  for (const channel of [1, 2]) exec.send(channel, notice(exec, code));
}

describe('the exec channel', () => {
  let server: FakeApiServer | undefined;

  afterEach(() => server?.close());

  const start = async (
    { onExit, ...options }: Partial<FakeApiOptions> & Pick<ExecPlan, 'onExit'>,
    stdin?: Uint8Array,
    pingMs: number = PING_MS,
  ): Promise<RunningExec> => {
    server = await fakeApiServer({ protocols: [V5, V4], ...options });
    const client = new KubernetesClient({ ...cluster, kubeconfig: server.kubeconfig, namespace: undefined });
    const plan = { argv: ['cat'], outputBytes: 1_000_000, onExit, ...(stdin && { stdin }) };
    const target = { pod: 'p', maxFileBytes: 1024, programs: SYSTEM_PATH, pingMs };
    return client.attempts((to, givenUp) => startExec(to, target, plan, givenUp), go, 10_000);
  };

  describe.each([[V5], [V4]])('under %s', (protocol) => {
    it('keeps every byte, and the exit code', async () => {
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7) % 256));
      const running = await start({
        protocols: [protocol],
        onExec: (exec) => {
          expect(exec.protocol).toBe(protocol);
          for (let at = 0; at < bytes.length; at += 9_999) exec.send(1, bytes.subarray(at, at + 9_999));
          exec.send(2, Buffer.from([0xff, 0x1e, 0]));
          tellEnd(exec, 7);
          exec.send(3, failure(7));
        },
      });
      expect(await running.exit).toBe(7);
      expect(running.stdout.bytes().equals(bytes)).toBe(true);
      expect(running.stderr.bytes()).toEqual(Buffer.from([0xff, 0x1e, 0]));
    });

    it('sends stdin whole and never ends it, as that would cost the exit code', async () => {
      const stdin = Buffer.alloc(1_300_000, 'x');
      const running = await start(
        {
          protocols: [protocol],
          onExec: (exec) => {
            const look = setInterval(() => {
              if (Buffer.concat(exec.received).length < stdin.length + exec.received.length) return;
              clearInterval(look);
              exec.send(3, SUCCESS);
            }, 5);
          },
        },
        stdin,
      );
      expect(await running.exit).toBe(0);
      const [exec] = server?.execs ?? [];
      expect(Buffer.concat(exec?.received.map((message) => message.subarray(1)) ?? []).equals(stdin)).toBe(true);
      expect(exec?.command[5]).toBe(String(stdin.length));
    });
  });

  it('holds nothing back behind the beginning of a notice that a command wrote itself', async () => {
    const forged: Buffer[] = [];
    const running = await start({
      onExec: (exec) => {
        forged.push(notice(exec, 0).subarray(0, -2), Buffer.alloc(50_000, 'x'));
        for (const part of forged) exec.send(1, part);
        tellEnd(exec, 3);
      },
    });
    expect(await running.exit).toBe(3);
    expect(running.stdout.bytes().equals(Buffer.concat(forged))).toBe(true);
  });

  it('is over when the command is, whoever still holds its streams', async () => {
    let knownAt = Infinity;
    const running = await start({
      onExec: (exec) => {
        exec.send(1, Buffer.from('out'));
        const said = notice(exec, 3);
        exec.send(2, Buffer.concat([Buffer.from('err'), said.subarray(0, 9)]));
        exec.send(2, said.subarray(9));
        exec.send(1, said);
      },
      onExit: () => {
        knownAt = performance.now();
      },
    });
    expect(await running.exit).toBe(3);
    expect(performance.now() - knownAt).toBeGreaterThan(QUIET_MS);
    expect([running.stdout.bytes().toString(), running.stderr.bytes().toString()]).toEqual(['out', 'err']);
    running.stop();
  });

  it('waits for what is still on its way on the other stream', async () => {
    const running = await start({
      onExec: (exec) => {
        exec.send(2, notice(exec, 0));
        setTimeout(() => {
          exec.send(1, Buffer.concat([Buffer.from('late'), notice(exec, 0)]));
        }, 600);
      },
    });
    expect(await running.exit).toBe(0);
    expect(running.stdout.bytes().toString()).toBe('late');
    running.stop();
  });

  it('does not believe a notice with another mark', async () => {
    const running = await start({
      onExec: (exec) => {
        exec.send(2, Buffer.from('\x1ebestk-exit 000000000000000000000000 0\x1e'));
        setTimeout(() => {
          exec.send(3, failure(1));
        }, 400);
      },
    });
    expect(await running.exit).toBe(1);
    expect(running.stderr.bytes().toString()).toContain('bestk-exit');
  });

  it.each([
    ['before the end', () => undefined],
    [
      'in the middle of a message',
      (exec: ServedExec) => {
        exec.sendHalf(3, SUCCESS);
      },
    ],
    [
      'after only one stream has ended',
      (exec: ServedExec) => {
        exec.send(2, notice(exec, 0));
      },
    ],
  ])('that breaks %s leaves no exit code', async (_, before: (exec: ServedExec) => void) => {
    const running = await start({
      onExec: (exec) => {
        before(exec);
        setTimeout(() => {
          exec.breakOff();
        }, 50);
      },
    });
    await expect(running.exit).rejects.toBeInstanceOf(SandboxLostError);
  });

  it('that answers no pings is dead and leaves no exit code', async () => {
    const running = await start({ ignoresPings: true });
    await expect(running.exit).rejects.toBeInstanceOf(SandboxLostError);
    expect(server?.execs[0]?.pings).toBeGreaterThan(1);
  });

  it.each([
    ['leaves no result if the connection is dead by then', true, 2_000],
    ['has timed out if the connection answers', false, 60_000],
  ])('whose command reaches its deadline %s', async (_, ignoresPings, pingMs) => {
    const running = await start({ ignoresPings }, undefined, pingMs);
    const container = {
      start: () => Promise.resolve(running),
      assertAlive: () => Promise.resolve(),
      fillsDisk: () => new Promise<never>(() => undefined),
      fate: () => Promise.resolve(null),
    } as unknown as Container;
    const prepared = { wasSingle: true, commit: 'c', ids: { uid: 0, gid: 0 }, timeout: null, programs: SYSTEM_PATH };
    const ground = { container, limits, prepared, workdir: '/', testsUser: null };
    const ran = runRequest(ground, { argv: ['t'], deadlineS: 1 }, false, go);
    if (ignoresPings) await expect(ran).rejects.toBeInstanceOf(SandboxLostError);
    else expect(await ran).toMatchObject({ outcome: { kind: 'timed-out' } });
  });

  it('stays open for a silent command while pings are answered', async () => {
    const running = await start({
      onExec: (exec) => {
        const look = setInterval(() => {
          if (exec.pings < 8) return;
          clearInterval(look);
          exec.send(3, SUCCESS);
        }, 5);
      },
    });
    expect(await running.exit).toBe(0);
  });

  it.each([
    'fork/exec /proc/self/exe: resource temporarily unavailable',
    'unable to start container process: read init-p: connection reset by peer: unknown',
    'unable to start container process: procReady not received (possibly OOM-killed)',
  ])('takes what could not be started for never started: %s', async (why) => {
    const message = `OCI runtime exec failed: ${why}`;
    const running = await start({
      onExec: (exec) => {
        exec.send(3, Buffer.from(JSON.stringify({ status: 'Failure', reason: 'InternalError', message })));
      },
    });
    expect(await running.exit).toBe(126);
  });

  it.each([429, 500, 503])('is asked for again after %s', async (status) => {
    const running = await start({
      refuse: (nth) => (nth < 3 ? status : undefined),
      onExec: (exec) => {
        exec.send(3, SUCCESS);
      },
    });
    expect(await running.exit).toBe(0);
  });

  it.each([403, 404])('is not asked for again after %s', async (status) => {
    const refused: number[] = [];
    const started = start({ refuse: (nth) => (refused.push(nth), status) });
    await expect(started).rejects.toThrow(String(status));
    expect(refused).toEqual([1]);
  });
});
