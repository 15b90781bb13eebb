import { CappedBytes } from '../../../src/core/hostile-text.js';
import { type Container, type Fate } from '../../../src/sandbox/container/container.js';
import { readInside } from '../../../src/sandbox/container/own-commands.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { go } from '../../fixtures/sandbox-commands.js';

/** Reads where the image's `head` ends so. */
function read(exitCode: number, fate: Fate | null, isAlive: boolean): Promise<Uint8Array | null> {
  const output = { stdout: new CappedBytes(9), stderr: new CappedBytes(9) };
  const container = {
    start: () => Promise.resolve({ ...output, exit: Promise.resolve(exitCode), stop: () => undefined }),
    fate: () => Promise.resolve(fate),
    assertAlive: () => (isAlive ? Promise.resolve() : Promise.reject(new SandboxLostError('its pod is gone'))),
  } as unknown as Container;
  return readInside(container, '/a', 9, go);
}

describe('a file that cannot be read', () => {
  it.each([1, 3, 7, 126, 137])('in a container that goes on is none (%s)', async (exitCode) => {
    expect(await read(exitCode, null, true)).toBeNull();
  });

  it('in one that its own commands ended is none', async () => {
    expect(await read(137, 'out-of-memory', false)).toBeNull();
  });

  it('in one that is gone is lost', async () => {
    await expect(read(137, null, false)).rejects.toBeInstanceOf(SandboxLostError);
  });
});
