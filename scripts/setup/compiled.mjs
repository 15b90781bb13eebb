import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from './content-hash.mjs';
import { run, step } from './run.mjs';

const SOURCES = [
  'src',
  'verifiers',
  'prompts',
  'tsconfig.json',
  'tsconfig.build.json',
  'package-lock.json',
  'scripts/build.mjs',
  'scripts/build-web.mjs',
  'scripts/bundle-packages.mjs',
];
const STAMP = 'dist/.sources';

/** The hash of everything the build reads. */
export function sourcesHash(root) {
  return contentHash(root, SOURCES);
}

export function stampPath(root) {
  return join(root, STAMP);
}

/** Whether dist was built, to its end, from the sources as they are. */
export function compiledCurrent(root) {
  return existsSync(stampPath(root)) && readFileSync(stampPath(root), 'utf8') === sourcesHash(root);
}

/** @throws {Error} with the compiler's messages */
export async function compile(root) {
  await step('build', () => run(process.execPath, ['scripts/build.mjs', '--unchecked'], { cwd: root })).catch(
    (cause) => {
      throw new Error(`the sources do not compile: ${cause.message}`, { cause });
    },
  );
}
