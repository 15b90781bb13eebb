import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { faketimeLibrary } from '../../scripts/setup/faketime.mjs';

export type Clocks = Readonly<Record<'service' | 'worker' | 'database', FakedClock>>;

/** The wall clock of the processes that are started with `env`; Debian's package faketime. */
export class FakedClock {
  private readonly file: string;

  /** @param folder that those processes may read @param name among the clocks of that folder */
  constructor(folder: string, name: string) {
    this.file = join(folder, `clock-${name}`);
    this.jump(0);
  }

  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: library(),
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** @param seconds off the machine's clock from now on */
  jump(seconds: number): void {
    writeFileSync(this.file, `${seconds < 0 ? '' : '+'}${seconds}`);
  }
}

function library(): string {
  const found = faketimeLibrary();
  if (found === undefined) throw new Error('libfaketime is not installed. Install the Debian package faketime.');
  return found;
}
