import { type ExecOutcome, type SandboxSession } from '../../src/ports/sandbox.js';
import { go, limits, python, sh, spec } from '../fixtures/sandbox-commands.js';
import type { EngineHarness } from './engine-harness.js';

const MIB = 2 ** 20;

/** Far more than anything here takes on the busiest machine, and far less than what it would take if it went wrong. */
const SOON_MS = 60_000;

/** On a real engine: every case ends with a clear outcome, and the work goes on: in the same session, or in a fresh one. */
export function hostileCommandsContract(name: string, { makeSandbox, leftovers }: EngineHarness): void {
  describe(`Hostile commands: ${name}`, () => {
    const sandbox = makeSandbox();
    let session: SandboxSession;
    /** Set by what ends its session, or leaves it so that nothing more can be asked of it. */
    let isSpoilt = true;

    beforeEach(async () => {
      if (isSpoilt) session = await sandbox.open(spec, go);
      isSpoilt = false;
    });

    afterEach(async () => {
      if (isSpoilt) {
        await session.close();
        expect(await leftovers()).toEqual([]);
      } else expect(await sh(session, 'echo on we go')).toMatchObject({ kind: 'exited', stdout: 'on we go\n' });
    });

    afterAll(async () => {
      await using last = await sandbox.open(spec, go);
      expect(await sh(last, 'echo on we go')).toMatchObject({ kind: 'exited', stdout: 'on we go\n' });
      await sandbox.closeAll();
      expect(await leftovers()).toEqual([]);
    });

    const spoils = (): void => {
      isSpoilt = true;
    };
    const isOver = async (): Promise<void> => {
      spoils();
      await expect(sh(session, 'true')).rejects.toThrow('closed');
    };

    describe('processes', () => {
      it('a fork bomb stays within its number of processes and its deadline', async () => {
        spoils();
        const bomb = await sh(session, 'f() { f | f & }; f; sleep 600', 2);
        expect(['timed-out', 'exited']).toContain(bomb.kind);
        if (bomb.kind === 'exited') expect(bomb.exitCode).not.toBe(0);
      });

      it('when one leaves no process to start the next in, that one has not passed and is not lost', async () => {
        spoils();
        const daemon = `import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        try:
            if os.fork() == 0:
                time.sleep(600)
        except OSError:
            time.sleep(0.001)
time.sleep(1)`;
        expect(await python(session, daemon, 20)).toMatchObject({ exitCode: 0 });
        const next = await sh(session, 'true', 5);
        expect(next).toMatchObject({ kind: 'exited' });
        expect(next).not.toMatchObject({ exitCode: 0 });
        expect(await session.readFile('/tmp/none', 9, go)).toBeNull();
      });

      it('one that breaks what files are read with leaves none to read, and the input is not to blame', async () => {
        spoils();
        await sh(session, 'echo ours >/tmp/file; h=$(command -v head); rm "$h"; printf "#!/bin/sh\nexit 7" >"$h"');
        expect(await session.readFile('/tmp/file', 9, go)).toBeNull();
        await sh(session, 'chmod +x "$(command -v head)"');
        expect(await session.readFile('/tmp/file', 9, go)).toBeNull();
      });

      it('a command that hangs is timed out, also when it ignores TERM', async () => {
        const asked = performance.now();
        // Ignored signals are inherited.
        expect(await sh(session, "trap '' HUP INT TERM; echo deaf; sleep 600", 1)).toMatchObject({
          kind: 'timed-out',
          stdout: 'deaf\n',
        });
        expect(performance.now() - asked).toBeLessThan(SOON_MS);
        await isOver();
      });

      it('a daemon that holds stdout does not hold up the command, and dies with the session', async () => {
        spoils();
        const asked = performance.now();
        const daemon = 'setsid sh -c "trap : TERM HUP; while :; do sleep 1; done" & echo started';
        expect(await sh(session, daemon, 600)).toMatchObject({ kind: 'exited', exitCode: 0, stdout: 'started\n' });
        expect(performance.now() - asked).toBeLessThan(SOON_MS);
      });

      it('a command that stops its own timeout is ended from outside', async () => {
        spoils();
        const asked = performance.now();
        const outcome = await sh(session, 'kill -STOP $PPID; trap "" TERM; sleep 600', 1);
        expect(outcome.kind).toBe('timed-out');
        expect(performance.now() - asked).toBeLessThan(SOON_MS);
      });

      it.each([
        ['its parent', 'kill -9 $PPID; sleep 1'],
        ['everybody', 'kill -9 -1; exit 9'],
        ['process 1', 'kill -9 1; kill -TERM 1; kill -INT 1; sleep 1; exit 9'],
      ])('a command that kills %s fails by itself, and the session stays', async (_, script) => {
        const outcome = await sh(session, script, 20);
        expect(outcome.kind).toBe('exited');
        expect(outcome).not.toMatchObject({ exitCode: 0 });
      });
    });

    describe('memory and disk', () => {
      it('memory without bound is out of memory', async () => {
        expect(await python(session, 'x = []\nwhile True: x.append(bytearray(10_000_000))')).toMatchObject({
          kind: 'out-of-memory',
        });
        await isOver();
      });

      it('a survived kill for memory is not held against the next command', async () => {
        spoils();
        const hog = 'python3 -c "x = bytearray(2_000_000_000)"; exit 0';
        expect(await sh(session, hog)).toMatchObject({ kind: 'exited', exitCode: 0 });
        expect(await sh(session, 'kill -9 $$')).toMatchObject({ kind: 'exited', exitCode: 137 });
      });

      it('many files are out of disk soon after the quota', async () => {
        const script =
          'cd /; i=0; while :; do head -c 4000000 /dev/zero >fill$i || exit 1; i=$((i + 1)); echo $i; done';
        const outcome = await sh(session, script, 30);
        expect(outcome.kind).toBe('out-of-disk');
        expect(Number(outcome.stdout.trim().split('\n').at(-1)) * 4_000_000).toBeGreaterThan(
          limits.diskMb * MIB - 4_000_000,
        );
        expect(await leftovers()).toEqual([]);
        await isOver();
      });

      it('empty files without number are out of disk as well', async () => {
        spoils();
        const script =
          'import os\nos.mkdir("/many")\nfor i in range(10**9): os.close(os.open(f"/many/{i}", os.O_CREAT))';
        expect(await python(session, script, 40)).toMatchObject({ kind: 'out-of-disk' });
      });

      it('one big file stops at the quota', async () => {
        spoils();
        const outcome = await sh(
          session,
          'head -c 10000000000 /dev/zero >/big; r=$?; stat -c %s /big; sleep 2; exit $r',
          30,
        );
        if (outcome.kind === 'exited') expect(outcome.exitCode).not.toBe(0);
        else expect(outcome.kind).toBe('out-of-disk');
        expect(Number(outcome.stdout)).toBeLessThanOrEqual(limits.diskMb * MIB);
      });

      it.each(['/tmp', '/dev/shm'])('filling %s is its own failure, neither memory nor disk', async (folder) => {
        spoils();
        const script = `i=0; while head -c 4000000 /dev/zero >${folder}/f$i; do i=$((i + 1)); done; exit 1`;
        const outcome = await sh(session, script, 20);
        expect(outcome).toMatchObject({ kind: 'exited', exitCode: 1 });
        expect(outcome.stderr).toContain('No space left on device');
      });
    });

    describe('output and exit codes', () => {
      it(
        'output far beyond its limit costs no memory',
        async () => {
          const before = process.memoryUsage().rss;
          const outcome = await sh(session, 'head -c 200000000 /dev/zero; echo done >&2', 600);
          expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0, truncated: true, stderr: 'done\n' });
          expect(outcome.stdout).toHaveLength(limits.outputBytes);
          expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
        },
        SOON_MS,
      );

      it('bytes that are no text are replaced, and the rest is kept', async () => {
        const outcome = await sh(session, "printf 'a\\377b\\000c\\303\\251\\303'");
        expect(outcome).toMatchObject({ kind: 'exited', stdout: 'a\uFFFDb\0cé\uFFFD' });
      });

      it('an exit with a code that means something to others is just that', async () => {
        for (const exitCode of [0, 1, 124, 125, 137, 143]) {
          expect(await sh(session, `exit ${String(exitCode)}`)).toMatchObject({ kind: 'exited', exitCode });
        }
      });

      it('a first line like our own on stderr is the command’s', async () => {
        expect(await sh(session, 'echo bestk:99 >&2')).toMatchObject({ stderr: 'bestk:99\n' });
      });

      it('a read from no stdin ends at once', async () => {
        const outcome: ExecOutcome = await session.exec({ argv: ['cat'], deadlineS: 10 }, go);
        expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0, stdout: '' });
      });

      it('a shell that was replaced cannot make a command pass', async () => {
        spoils();
        await sh(session, 'cp /bin/true /bin/sh.new && mv /bin/sh.new "$(readlink -f /bin/sh)"');
        const outcome = await python(session, 'raise SystemExit(1)');
        expect(outcome).not.toMatchObject({ exitCode: 0 });
      });
    });

    it('no address can be reached', async () => {
      const script = `
import socket
for family, address in ((socket.AF_INET, ('1.1.1.1', 53)), (socket.AF_INET, ('172.17.0.1', 22)), (socket.AF_INET6, ('2606:4700::1111', 53))):
    s = socket.socket(family)
    s.settimeout(2)
    try:
        s.connect(address)
        print('REACHED', address)
    except OSError as error:
        print('no', error.errno)
server = socket.create_server(('127.0.0.1', 0))
print(socket.create_connection(server.getsockname()).getpeername()[0])`;
      const outcome = await python(session, script);
      expect(outcome.stdout).toMatch(/^no \d+\nno \d+\nno \d+\n127\.0\.0\.1\n$/);
    });
  });
}
