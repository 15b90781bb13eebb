import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const CHUNKS = [1024 * 1024, 4096, 1];
/** Left to be filled in small steps, for others write there meanwhile. */
const MARGIN_BYTES = 64 * 1024 * 1024;

/** A file system of its own in memory, of a given size. */
export class SmallDisk {
  /** @param path is made @throws where this user may not mount */
  constructor(
    readonly path: string,
    megabytes: number,
  ) {
    mkdirSync(path, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path]);
    chmodSync(path, 0o755);
  }

  /** To the last byte. */
  fill(): void {
    const { bavail, bsize } = statfsSync(this.path);
    const most = bavail * bsize - MARGIN_BYTES;
    // In one step: this process answers for models, too, and must not stand still.
    if (most > 0) execFileSync('fallocate', ['-l', String(most), this.filler]);
    for (const size of CHUNKS) {
      const chunk = Buffer.alloc(size);
      try {
        for (;;) appendFileSync(this.filler, chunk);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  }

  free(): void {
    rmSync(this.filler, { force: true });
  }

  remove(): void {
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }

  private get filler(): string {
    return join(this.path, 'filler');
  }
}
