import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Manifest = z.object({ version: z.string() });

/** Tries two levels, because the compiled file is one level deeper. */
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

/** bestk's version, from package.json. */
export const VERSION = readVersion();
