// Makes a clean clone ready: npm packages, Docker, the build, the images. Plain Node, for it runs before npm ci.
//   node scripts/setup.mjs quickstart | bench-example | test | all-tests | faults | build
// Every step is left out when there is nothing to do. Exit 3: the machine lacks something this cannot supply.
import { fileURLToPath } from 'node:url';
import { browserPath, missingBrowser } from './setup/browser.mjs';
import { compile, compiledCurrent } from './setup/compiled.mjs';
import { canInstall, install, missingPython } from './setup/debian.mjs';
import { assertMayStart, missingCompose, missingDocker, startEngine } from './setup/docker.mjs';
import { engineFault } from './setup/engine.mjs';
import {
  buildBase,
  buildBenchExample,
  buildExample,
  buildFixture,
  buildLanguages,
  buildPostgres,
  buildService,
} from './setup/images.mjs';
import { missingFaketime } from './setup/faketime.mjs';
import { missingPostgres } from './setup/postgres.mjs';
import { missingRedis } from './setup/redis.mjs';
import { addonLoads, installAddon, installPackages, missingCompilers, packagesCurrent } from './setup/npm-packages.mjs';
import { CommandFailed, Unavailable } from './setup/run.mjs';

const TEST = {
  images: [buildBase, buildFixture, buildBenchExample, buildExample, buildLanguages],
  python: true,
  browser: true,
  postgres: true,
  compose: true,
};
/** What each goal needs beside packages and the build. Without images it needs no Docker; `last` are made of the packages. */
const GOALS = {
  quickstart: { images: [buildBase, buildExample] },
  'bench-example': { images: [buildBase, buildBenchExample] },
  test: TEST,
  'all-tests': { ...TEST, last: [buildService, buildPostgres] },
  faults: { images: [buildBase, buildFixture], postgres: true, faketime: true },
  build: { images: null },
};

/** Does what `goal` still needs. Packages run beside Docker and images, the build beside the addon. */
export async function setUp(goal) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const { images, python, browser, postgres, compose, faketime, last = [] } = GOALS[goal];
  const installed = packagesCurrent(root);
  const addon = installed && addonLoads(root);
  const fault = images ? await engineFault() : undefined;
  if (fault) assertMayStart(fault);

  const lacking = [
    ...(addon ? [] : missingCompilers()),
    ...(fault ? missingDocker() : []),
    ...(browser ? missingBrowser() : []),
    ...(postgres ? missingPostgres() : []),
    ...(compose ? [...missingCompose(), ...missingRedis()] : []),
    ...(python ? missingPython() : []),
    ...(faketime ? missingFaketime() : []),
  ];
  if (lacking.length > 0 && canInstall()) await install(lacking);
  if (browser) browserPath();

  const program = async () => {
    if (!installed) await installPackages(root);
    await together([addon ? null : installAddon(root), compiledCurrent(root) ? null : compile(root)]);
  };
  const containers = async () => {
    if (fault) await startEngine();
    for (const build of images ?? []) await build(root);
  };
  await together([program(), containers()]);
  for (const build of last) await build(root);
}

/** Waits for all of them, whatever becomes of one. @throws {AggregateError} of every cause */
async function together(steps) {
  const reasons = (await Promise.allSettled(steps)).flatMap(({ reason }) => reason ?? []);
  const causes = reasons.flatMap((reason) => (reason instanceof AggregateError ? reason.errors : [reason]));
  if (causes.length > 0) throw new AggregateError(causes);
}

/** Sets up or ends the process: 3 when the machine lacks something, 1 when it is the program that is at fault. */
export async function setUpOrExit(goal) {
  try {
    await setUp(goal);
  } catch (error) {
    const causes = error instanceof AggregateError ? error.errors : [error];
    for (const cause of causes) console.error(`set-up: ${cause.message}`);
    process.exit(causes.every((cause) => cause instanceof Unavailable || cause instanceof CommandFailed) ? 3 : 1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const goal = process.argv[2] ?? '';
  if (!Object.hasOwn(GOALS, goal)) {
    console.error(`usage: node scripts/setup.mjs ${Object.keys(GOALS).join('|')}`);
    process.exit(2);
  }
  await setUpOrExit(goal);
}
