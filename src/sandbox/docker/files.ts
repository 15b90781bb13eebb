import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { extract } from 'tar-stream';
import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import { MEMORY_MOUNTS } from './container-options.js';
import { engineCall } from './engine.js';

/**
 * The engine's archive calls work on the container's layers from outside: they need no program of the image and cannot be
 * lied to by what runs inside, but do not see memory mounts. Paths below those go through `tar` and `head` in the container
 * (sandbox-files.ts), so evidence that must not be forged belongs anywhere but below them.
 */
export function isInMemory(path: string): boolean {
  return MEMORY_MOUNTS.some((mount) => path === mount || path.startsWith(`${mount}/`));
}

/** Unpacks a tar at the root; makes parents, replaces what is in the way. @throws BadInputError when a parent is a file. */
export async function putTar(container: Docker.Container, tar: Buffer): Promise<void> {
  try {
    await engineCall({ container: container.id }, (abortSignal) =>
      container.putArchive(tar, { path: '/', abortSignal }),
    );
  } catch (error) {
    if (isPathTrouble(error)) throw new BadInputError(`cannot write files: ${error.message}`, {}, undefined);
    throw error;
  }
}

/** First `maxBytes` of the regular file at `path`; null for anything else. */
export async function readFromLayer(
  container: Docker.Container,
  path: string,
  maxBytes: number,
): Promise<Uint8Array | null> {
  try {
    return await engineCall({ container: container.id }, async (abortSignal) => {
      const stream = await container.getArchive({ path, abortSignal });
      return firstFile(Readable.from(stream), maxBytes);
    });
  } catch (error) {
    if (isPathTrouble(error)) return null;
    throw error;
  }
}

async function firstFile(stream: Readable, maxBytes: number): Promise<Uint8Array | null> {
  const reader = extract();
  stream.on('error', (error) => {
    reader.destroy(error);
  });
  stream.pipe(reader);
  try {
    for await (const entry of reader) {
      if (entry.header.type !== 'file') return null;
      const chunks: Buffer[] = [];
      let left = Math.min(maxBytes, entry.header.size);
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        const part = chunk.subarray(0, left);
        chunks.push(part);
        left -= part.length;
        if (left <= 0) return Buffer.concat(chunks);
      }
      if (left > 0) throw new SandboxLostError('the engine broke off while it sent a file');
      return Buffer.concat(chunks);
    }
    return null;
  } finally {
    stream.destroy();
    reader.destroy();
  }
}

/** The engine's complaint about the path itself, as the container's files happen to be; the container is well. */
function isPathTrouble(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return /could not find the file|not a directory|is a directory|too many (levels|links)|file name too long/i.test(
    error.message,
  );
}
