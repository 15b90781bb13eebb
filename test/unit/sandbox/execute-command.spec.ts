import { CappedBytes } from '../../../src/sandbox/container/output.js';
import type { Container } from '../../../src/sandbox/container/container.js';
import { runRequest, type Ran } from '../../../src/sandbox/container/execute-command.js';
import { EngineDiskFullError } from '../../../src/core/errors/unavailable.js';
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
  const prepared = { wasSingle: true, commit: 'c', ids: { uid: 0, gid: 0 }, timeout: null };
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
