import { setTimeout as sleep } from 'node:timers/promises';
import { BadInputError } from '../../src/core/errors/errors.js';
import { SandboxLostError } from '../../src/core/errors/unavailable.js';
import { type SandboxSession } from '../../src/ports/sandbox.js';
import { go, limits, python, sh, spec } from '../fixtures/sandbox-commands.js';
import type { EngineHarness } from './engine-harness.js';

/** What a container of any real engine does with output, programs, files, and those who wait for room. */
export function containerContract(name: string, { makeSandbox, leftovers }: EngineHarness): void {
  describe(`Containers: ${name}`, () => {
    const sandbox = makeSandbox();
    let session: SandboxSession;

    beforeAll(async () => {
      session = await sandbox.open(spec, go);
    });

    afterAll(async () => {
      await sandbox.closeAll();
      expect(await leftovers()).toEqual([]);
    });

    const text = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString());

    describe('output', () => {
      it('is decoded once, whatever the chunks', async () => {
        const { stdout, truncated } = await python(session, 'print("日本語テスト" * 5000)');
        expect(stdout).toBe(`${'日本語テスト'.repeat(5000)}\n`);
        expect(truncated).toBe(false);
      });

      it('is cut at a whole character, per stream', async () => {
        const said = await python(session, 'import sys; print("aé" * 50000); sys.stderr.write("fine")');
        expect(said).toMatchObject({ truncated: true, stderr: 'fine', exitCode: 0 });
        expect(said.stdout).toMatch(/^(aé)+a?$/);
        expect(Buffer.byteLength(said.stdout)).toBeGreaterThan(limits.outputBytes - 3);
      });

      it('may be closed by a command that goes on', async () => {
        const outcome = await sh(session, 'exec >&- 2>&-; sleep 1; exit 7');
        expect(outcome).toMatchObject({ kind: 'exited', exitCode: 7 });
        expect(outcome.durationMs).toBeGreaterThan(500);
      });
    });

    describe('commands', () => {
      it('that do not exist or cannot be reached exit as in a shell', async () => {
        expect(await session.exec({ argv: ['no-such-program'], deadlineS: 5 }, go)).toMatchObject({ exitCode: 127 });
        expect(await session.exec({ argv: ['/etc'], deadlineS: 5 }, go)).toMatchObject({ exitCode: 126 });
        const lost = await session.exec({ argv: ['pwd'], cwd: '/no/where', deadlineS: 5 }, go);
        expect(lost).toMatchObject({ exitCode: 126, stdout: '' });
      });

      it('leave no zombies: orphans are reaped', async () => {
        await sh(session, 'for i in 1 2 3 4 5; do (sleep 0.1 &) ; done');
        await sleep(500);
        const { stdout } = await sh(session, 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l');
        expect(stdout).toBe('0\n');
      });
    });

    describe('files', () => {
      it.each(['/data', '/tmp/data'])('below %s that are links, pipes or devices are null', async (folder) => {
        await sh(
          session,
          `mkdir -p ${folder}; cd ${folder}; ln -sf /etc/passwd link; [ -p pipe ] || mkfifo pipe; echo ok >file`,
        );
        for (const name of ['link', 'pipe', 'file/below', 'none']) {
          expect(await session.readFile(`${folder}/${name}`, 100, go)).toBeNull();
        }
        expect(text(await session.readFile(`${folder}/file`, 100, go))).toBe('ok\n');
      });

      it('replace a link instead of following it, keep their mode, and belong to the user', async () => {
        await sh(session, 'mkdir -p /data; ln -sf /etc/passwd /data/planted');
        await session.writeFiles([{ path: '/data/planted', content: '#!/bin/sh\necho ran', mode: 0o755 }], go);
        expect(await session.exec({ argv: ['/data/planted'], deadlineS: 5 }, go)).toMatchObject({ stdout: 'ran\n' });
        expect((await sh(session, 'stat -c "%F %a %U" /data/planted; grep -c root: /etc/passwd')).stdout).toBe(
          'regular file 755 root\n1\n',
        );
      });

      it('below a file are bad input, and the session goes on', async () => {
        const wrong = session.writeFiles([{ path: '/etc/passwd/x', content: '' }], go);
        await expect(wrong).rejects.toBeInstanceOf(BadInputError);
        expect(await sh(session, 'exit 0')).toMatchObject({ exitCode: 0 });
      });

      it('are read no further than asked, however long', async () => {
        await sh(session, 'mkdir -p /data; head -c 30000000 /dev/zero >/data/long');
        expect(await session.readFile('/data/long', 10, go)).toHaveLength(10);
      });
    });

    describe('room', () => {
      it('is waited for, also by those who give up', async () => {
        const small = makeSandbox({ concurrency: 1 });
        const first = await small.open(spec, go);
        const patience = new AbortController();
        const second = small.open(spec, patience.signal);
        const third = small.open(spec, go);
        const early = await Promise.race([third.then(() => 'open'), sleep(800, 'waiting')]);
        expect(early).toBe('waiting');
        patience.abort(new Error('too slow'));
        await expect(second).rejects.toThrow('too slow');
        await first.close();
        expect(await sh(await third, 'exit 0')).toMatchObject({ exitCode: 0 });
        await small.closeAll();
      });

      it('is given back when opening fails, and closing all ends who waits', async () => {
        const small = makeSandbox({ concurrency: 1 });
        await expect(small.open({ ...spec, workdir: '/none' }, go)).rejects.toBeInstanceOf(BadInputError);
        await small.open(spec, go);
        const waiting = small.open(spec, go);
        const refused = expect(waiting).rejects.toBeInstanceOf(SandboxLostError);
        await small.closeAll();
        await refused;
        await (await small.open(spec, go)).close();
        await small.closeAll();
      });
    });
  });
}
