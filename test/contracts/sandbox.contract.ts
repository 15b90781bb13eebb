import { BadInputError } from '../../src/core/errors/errors.js';
import { ImageMissingError, SandboxLostError } from '../../src/core/errors/unavailable.js';
import type { Sandbox, SandboxSession, SandboxSpec } from '../../src/ports/sandbox.js';

export interface SandboxHarness {
  readonly sandbox: Sandbox;
  /** An image that exists, with a repository at `workdir` that holds `commit`. */
  readonly image: string;
  readonly workdir: string;
  readonly commit: string;
}

/** Never aborted. */
const go = new AbortController().signal;

/**
 * What every Sandbox does. Commands used: `echo`, `cat`, `pwd`, `printenv`, `sleep`, and `sh -c` with `exit N` or
 * `echo X >&2`.
 */
export function sandboxContract(name: string, makeHarness: () => SandboxHarness | Promise<SandboxHarness>): void {
  describe(`Sandbox contract: ${name}`, () => {
    let harness: SandboxHarness;
    let spec: SandboxSpec;

    beforeAll(async () => {
      harness = await makeHarness();
      spec = { image: harness.image, workdir: harness.workdir, baseCommit: null, purpose: 'contract' };
    });

    afterAll(async () => {
      await harness.sandbox.closeAll();
    });

    const open = (): Promise<SandboxSession> => harness.sandbox.open(spec, go);
    let sharedSession: Promise<SandboxSession> | undefined;
    /** For what leaves a session as it was. */
    const shared = (): Promise<SandboxSession> => (sharedSession ??= open());
    const run = (session: SandboxSession, ...argv: string[]) => session.exec({ argv, deadlineS: 20 }, go);
    const text = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString());

    describe('images', () => {
      it('have one id each, the same at every look', async () => {
        const first = await harness.sandbox.describeImage(harness.image, go);
        expect(first.id).toMatch(/^sha256:[0-9a-f]{64}$/);
        expect(await harness.sandbox.describeImage(harness.image, go)).toEqual(first);
      });

      it('that are missing are named, also when opened', async () => {
        const missing = { ...spec, image: 'bestk/no-such-image:1' };
        await expect(harness.sandbox.describeImage(missing.image, go)).rejects.toBeInstanceOf(ImageMissingError);
        await expect(harness.sandbox.open(missing, go)).rejects.toMatchObject({ image: missing.image });
      });

      it('without the workdir are bad input', async () => {
        const wrong = harness.sandbox.open({ ...spec, workdir: '/no/such/place' }, go);
        await expect(wrong).rejects.toMatchObject({ place: { field: 'environment.workdir' } });
        await expect(wrong).rejects.toBeInstanceOf(BadInputError);
      });

      it('without the base commit are bad input', async () => {
        const wrong = harness.sandbox.open({ ...spec, baseCommit: 'f'.repeat(40) }, go);
        await expect(wrong).rejects.toMatchObject({ place: { field: 'environment.base_commit' } });
      });

      it('with the base commit open', async () => {
        await using session = await harness.sandbox.open({ ...spec, baseCommit: harness.commit }, go);
        expect((await run(session, 'echo', 'here')).stdout).toBe('here\n');
      });
    });

    it('names the commit of the base, whatever was asked for', async () => {
      await using first = await open();
      await using second = await harness.sandbox.open({ ...spec, baseCommit: harness.commit }, go);
      for (const { baseCommit } of [first, second]) expect(baseCommit).toMatch(/^[0-9a-f]{40,64}$/);
    });

    describe('commands', () => {
      it('tell exit code, stdout, stderr and time', async () => {
        const session = await shared();
        expect(await run(session, 'sh', '-c', 'echo oops >&2')).toMatchObject({ exitCode: 0, stderr: 'oops\n' });
        const outcome = await run(session, 'sh', '-c', 'exit 3');
        expect(outcome).toMatchObject({ kind: 'exited', exitCode: 3, stdout: '', truncated: false });
        expect(outcome.durationMs).toBeGreaterThanOrEqual(0);
      });

      it('are never read by a shell', async () => {
        const session = await shared();
        expect((await run(session, 'echo', '$HOME; echo "x"', '*')).stdout).toBe('$HOME; echo "x" *\n');
      });

      it('start in the workdir or where they are told', async () => {
        const session = await shared();
        expect((await run(session, 'pwd')).stdout).toBe(`${harness.workdir}\n`);
        expect((await session.exec({ argv: ['pwd'], cwd: '/usr', deadlineS: 20 }, go)).stdout).toBe('/usr\n');
      });

      it('get stdin and environment', async () => {
        const session = await shared();
        const said = await session.exec({ argv: ['cat'], stdin: 'a\nπ', deadlineS: 20 }, go);
        expect(said).toMatchObject({ exitCode: 0, stdout: 'a\nπ' });
        const env = { GREETING: 'good day' };
        expect((await session.exec({ argv: ['printenv', 'GREETING'], env, deadlineS: 20 }, go)).stdout).toBe(
          'good day\n',
        );
      });

      it('share files within a session and with no other', async () => {
        const first = await shared();
        await first.writeFiles([{ path: '/data/seen', content: 'only here' }], go);
        expect((await run(first, 'cat', '/data/seen')).stdout).toBe('only here');
        await using second = await open();
        expect(await second.readFile('/data/seen', 100, go)).toBeNull();
      });

      it('past their deadline are timed out, and the session is over', async () => {
        await using session = await open();
        const outcome = await session.exec({ argv: ['sleep', '600'], deadlineS: 1 }, go);
        expect(outcome.kind).toBe('timed-out');
        await expect(run(session, 'echo', 'again')).rejects.toBeInstanceOf(SandboxLostError);
      });
    });

    describe('commands with a limit of the CPU', () => {
      it('are timed out where they wait for something else, however busy the machine is', async () => {
        await using session = await open();
        const late = await session.exec({ argv: ['sleep', '600'], cpuS: 1, deadlineS: 2 }, go);
        expect(late.kind).toBe('timed-out');
      });

      it('end by themselves where they need less', async () => {
        const session = await shared();
        const said = await session.exec({ argv: ['echo', 'quick'], cpuS: 20, deadlineS: 80 }, go);
        expect(said).toMatchObject({ kind: 'exited', exitCode: 0, stdout: 'quick\n' });
      });
    });

    describe('sessions of an agent', () => {
      const idle = (): Promise<SandboxSession> => harness.sandbox.open({ ...spec, occupies: 'command' }, go);

      it('go on after a time-out that they were told to survive', async () => {
        await using session = await idle();
        const late = await session.exec({ argv: ['sleep', '600'], deadlineS: 1, survivesTimeout: true }, go);
        expect(late.kind).toBe('timed-out');
        expect(await run(session, 'echo', 'again')).toMatchObject({ kind: 'exited', stdout: 'again\n' });
      });

      it('leave room for others while they wait', async () => {
        const sessions = await Promise.all([idle(), idle(), idle(), idle()]);
        await using other = await open();
        expect((await run(other, 'echo', 'room')).stdout).toBe('room\n');
        await other.close();
        const said = await Promise.all(sessions.map((session, index) => run(session, 'echo', String(index))));
        expect(said.map(({ stdout }) => stdout)).toEqual(['0\n', '1\n', '2\n', '3\n']);
        await Promise.all(sessions.map((session) => session.close()));
      });

      it('take bytes on stdin', async () => {
        await using session = await idle();
        const said = await session.exec({ argv: ['cat'], stdin: Buffer.from('ä'), deadlineS: 20 }, go);
        expect(said.stdout).toBe('ä');
      });
    });

    describe('files', () => {
      it('come back as they were written, from any depth', async () => {
        const session = await shared();
        const bytes = Uint8Array.from([0, 255, 128, 10]);
        const path = '/some/new/place/bytes.bin';
        await session.writeFiles(
          [
            { path, content: bytes },
            { path: '/tmp/x/y.txt', content: 'ä' },
          ],
          go,
        );
        expect([...((await session.readFile(path, 100, go)) ?? [])]).toEqual([...bytes]);
        expect(text(await session.readFile('/tmp/x/y.txt', 100, go))).toBe('ä');
      });

      it('are replaced, and read no further than asked', async () => {
        const session = await shared();
        await session.writeFiles([{ path: '/data/a', content: 'first' }], go);
        await session.writeFiles([{ path: '/data/a', content: 'second' }], go);
        expect(text(await session.readFile('/data/a', 3, go))).toBe('sec');
        expect(text(await session.readFile('/data/a', 0, go))).toBe('');
      });

      it('are null when missing or a directory', async () => {
        const session = await shared();
        await session.writeFiles([{ path: '/data/sub/a', content: 'x' }], go);
        expect(await session.readFile('/data/none', 10, go)).toBeNull();
        expect(await session.readFile('/data/sub', 10, go)).toBeNull();
      });

      it('need absolute paths', async () => {
        const session = await shared();
        const relative = session.writeFiles([{ path: 'a.txt', content: '' }], go);
        await expect(relative).rejects.toBeInstanceOf(BadInputError);
        await expect(session.readFile('/', 10, go)).rejects.toBeInstanceOf(BadInputError);
        expect((await run(session, 'echo', 'still open')).kind).toBe('exited');
      });
    });

    describe('ending', () => {
      it('by close is final and harmless twice', async () => {
        const session = await open();
        await session.close();
        await session.close();
        await expect(run(session, 'echo')).rejects.toBeInstanceOf(SandboxLostError);
        await expect(session.readFile('/data/a', 1, go)).rejects.toBeInstanceOf(SandboxLostError);
        await expect(session.writeFiles([], go)).rejects.toBeInstanceOf(SandboxLostError);
      });

      it('by abort rejects with the reason and closes the session', async () => {
        const session = await open();
        const stop = new AbortController();
        const reason = new Error('enough');
        const asked = performance.now();
        const sleeping = session.exec({ argv: ['sleep', '600'], deadlineS: 600 }, stop.signal);
        setTimeout(() => {
          stop.abort(reason);
        }, 200);
        await expect(sleeping).rejects.toBe(reason);
        expect(performance.now() - asked).toBeLessThan(60_000);
        await expect(run(session, 'echo')).rejects.toBeInstanceOf(SandboxLostError);
      });

      it('before the start leaves nothing behind', async () => {
        const stopped = AbortSignal.abort(new Error('never mind'));
        await expect(harness.sandbox.open(spec, stopped)).rejects.toThrow('never mind');
        await using session = await open();
        await expect(session.exec({ argv: ['echo'], deadlineS: 5 }, stopped)).rejects.toThrow('never mind');
      });

      it('of all takes every open session, and new ones open', async () => {
        const session = await open();
        await harness.sandbox.closeAll();
        await expect(run(session, 'echo')).rejects.toBeInstanceOf(SandboxLostError);
        await using next = await open();
        expect((await run(next, 'echo', 'new')).stdout).toBe('new\n');
      });
    });

    it('names its engine and sweeps without touching open sessions', async () => {
      expect(await harness.sandbox.engineVersion()).not.toBe('');
      await using session = await open();
      await harness.sandbox.sweep();
      expect((await run(session, 'echo', 'alive')).stdout).toBe('alive\n');
    });
  });
}
