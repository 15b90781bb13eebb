import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

const OF_THIS_MACHINE = `bestk-upload-${hostname()}-`;

/** A folder for one upload, whose name says which process it belongs to. */
export function makeUploadFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), `${OF_THIS_MACHINE}${process.pid}-`));
}

/** Removes what killed processes left, gigabytes perhaps. To be called before the first upload of this process. */
export async function removeLeftUploads(): Promise<void> {
  const names = await readdir(tmpdir());
  const left = names.filter((name) => {
    const owner = ownerOf(name);
    // In a container, a service that is started again has the number that it had.
    return owner === process.pid || (owner !== null && !isRunning(owner));
  });
  // One that belongs to another user is left to its owner.
  await Promise.allSettled(left.map((name) => rm(join(tmpdir(), name), { recursive: true, force: true })));
}

function ownerOf(name: string): number | null {
  if (!name.startsWith(OF_THIS_MACHINE)) return null;
  const [, pid] = /^(\d+)-\w+$/.exec(name.slice(OF_THIS_MACHINE.length)) ?? [];
  return pid === undefined ? null : Number(pid);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
