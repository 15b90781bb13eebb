// Compiles src/ and verifiers/ into a fresh dist/, copies the prompts beside them, bundles packages and the viewer.
//   --unchecked   the same output in a third of the time: a type error ends no build, `npm run types` finds it
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildWeb } from './build-web.mjs';
import { bundlePackages } from './bundle-packages.mjs';
import { sourcesHash, stampPath } from './setup/compiled.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const hash = sourcesHash(root);

rmSync(join(root, 'dist'), { recursive: true, force: true });
const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'];
if (process.argv.includes('--unchecked')) tsc.push('--noCheck');
const { status } = spawnSync(process.execPath, tsc, { cwd: root, stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

// What links to it is run as a program; npm makes it one only when it makes the link.
chmodSync(join(root, 'dist/src/cli.js'), 0o755);
cpSync(join(root, 'prompts'), join(root, 'dist/prompts'), {
  recursive: true,
  filter: (source) => ['', '.md'].includes(extname(source)),
});
await bundlePackages(root);
await buildWeb(root);
writeFileSync(stampPath(root), hash);
