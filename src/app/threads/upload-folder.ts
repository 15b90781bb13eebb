import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../../sandbox/container/sandbox-owner.js';

const OF_ANY_MACHINE = 'bestk-upload-';
const OF_THIS_MACHINE = `${OF_ANY_MACHINE}${hostname()}-`;
/** No upload takes that long. */
const DAY_MS = 86_400_000;

/** A folder for one upload, whose name says which process it belongs to. */
export function makeUploadFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), `${OF_THIS_MACHINE}${process.pid}-`));
}

/**
 * Removes what killed processes left, gigabytes perhaps: of this machine at once, of others, containers that are gone, after
 * a day. To be called before the first upload of this process.
 */
export async function removeLeftUploads(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(OF_ANY_MACHINE));
  // One that belongs to another user is left to its owner.
  await Promise.allSettled(names.map((name) => removeLeft(name)));
}

async function removeLeft(name: string): Promise<void> {
  const path = join(tmpdir(), name);
  const owner = ownerOf(name);
  // In a container, a service that is started again has the number that it had.
  const isLeft =
    owner === null ? Date.now() - (await stat(path)).mtimeMs > DAY_MS : owner === process.pid || !isRunning(owner);
  if (isLeft) await rm(path, { recursive: true });
}

/** Null: a process of another machine. */
function ownerOf(name: string): number | null {
  if (!name.startsWith(OF_THIS_MACHINE)) return null;
  const [, pid] = /^(\d+)-\w+$/.exec(name.slice(OF_THIS_MACHINE.length)) ?? [];
  return pid === undefined ? null : Number(pid);
}
