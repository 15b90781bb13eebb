import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const IGNORED = new Set(['__pycache__', '.pytest_cache', 'node_modules', '.git']);

/** SHA-256 over names and contents of the files at and below `paths`; a path that is missing counts as such. */
export function contentHash(root, paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of filesAt(join(root, path))) {
      const content = readFileSync(file);
      hash.update(`${relative(root, file)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex');
}

function filesAt(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path)
    .filter((name) => !IGNORED.has(name))
    .sort()
    .flatMap((name) => filesAt(join(path, name)));
}
