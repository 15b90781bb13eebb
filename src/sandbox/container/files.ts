import { posix } from 'node:path';
import { pack } from 'tar-stream';
import { BadInputError } from '../../core/errors/errors.js';
import type { Ids, SandboxFile } from '../../ports/sandbox.js';
import type { Container } from './container.js';
import { runPlain } from './repository-script.js';

const READ_FILE = '[ -f "$1" ] && [ ! -L "$1" ] || exit 3; exec head -c "$2" "$1"';
/** Status of a process killed by signal 9, as the end of its container kills it. */
const KILLED = 137;

/** @throws BadInputError unless the path is absolute and names something below the root. */
export function absolutePath(path: string): string {
  const normal = posix.normalize(path);
  if (!path.startsWith('/') || path.includes('\0') || normal.endsWith('/')) {
    throw new BadInputError(`"${path}" is not the absolute path of a file`);
  }
  return normal;
}

/** A tar of `files`, to be unpacked at the root. */
export async function tarOf(files: readonly SandboxFile[], ids: Ids): Promise<Buffer> {
  const archive = pack();
  for (const { path, content, mode } of files) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
    archive.entry({ name: absolutePath(path).slice(1), mode: mode ?? 0o644, ...ids }, bytes);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Writes through the image's own `tar`. @throws BadInputError when it cannot. */
export async function writeInside(
  container: Container,
  files: readonly SandboxFile[],
  ids: Ids,
  signal: AbortSignal,
): Promise<void> {
  const stdin = await tarOf(files, ids);
  const { exitCode, stderr } = await runPlain(container, { argv: ['tar', '-xof', '-', '-C', '/'], stdin, signal });
  if (exitCode !== 0) throw new BadInputError(`cannot write ${files[0]?.path ?? ''}: ${stderr.toString()}`);
}

/**
 * Reads through the image's own `head`; null unless `path` is a regular file that can be read. What ran in the container
 * before may have broken that, which is a result: only a container that is gone has none.
 */
export async function readInside(
  container: Container,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const argv = ['/bin/sh', '-c', READ_FILE, 'sh', path, String(maxBytes)];
  const askedAt = performance.now();
  const { exitCode, stdout } = await runPlain(container, { argv, outputBytes: maxBytes, signal });
  if (exitCode === 0) return stdout;
  if (exitCode === KILLED && (await container.fate(askedAt)) === null) await container.assertAlive();
  return null;
}
