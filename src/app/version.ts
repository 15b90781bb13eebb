import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Manifest = z.object({ version: z.string() });

/** Looks upwards from this file, which lies one level deeper once it is compiled. */
function readVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      return Manifest.parse(JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))).version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return 'unknown';
}

/** bestk's own version, from package.json. */
export const VERSION = readVersion();
