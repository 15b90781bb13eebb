import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const LIBRARIES = '/usr/lib';

/** The library that fakes a process's clock, or undefined. */
export function faketimeLibrary() {
  const folders = existsSync(LIBRARIES) ? readdirSync(LIBRARIES) : [];
  return folders
    .map((folder) => join(LIBRARIES, folder, 'faketime/libfaketimeMT.so.1'))
    .find((path) => existsSync(path));
}

/** The Debian packages it needs and this machine lacks. */
export function missingFaketime() {
  return faketimeLibrary() === undefined ? ['faketime'] : [];
}
