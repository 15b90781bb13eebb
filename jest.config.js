import { createRequire } from 'node:module';

/** Of the unit tests, those with a real SQLite, whose addon is compiled for one version of Node. */
const WITH_SQLITE = [
  'benchmarks/greedy-arms',
  'http/benchmarks',
  'http/benchmark-intake',
  'http/evidence',
  'http/docs-examples',
  'store/sqlite-store',
  'app/setup',
  'store/report-store',
];

/** Under another Node than the addon was installed for, they are left out, and said. */
function unloadable() {
  try {
    const Database = createRequire(import.meta.url)('better-sqlite3');
    new Database(':memory:').close();
    return [];
  } catch (error) {
    if (!error.message.includes('NODE_MODULE_VERSION')) throw error;
    console.warn(`SKIPPED: ${WITH_SQLITE.join(', ')}: ${error.message.split('\n')[0]}`);
    return WITH_SQLITE.map((name) => `/test/unit/${name}\\.spec\\.ts$`);
  }
}

/**
 * `unit` needs no Docker, no browser and no other process's server; `system` has all three. `long` has what takes minutes and
 * changes rarely: attacks, killed processes, deployments and real data; `npm run test:all` runs it, too.
 */
function project(name) {
  return {
    displayName: name,
    testEnvironment: '<rootDir>/scripts/jest-environment.mjs',
    testRunner: '<rootDir>/scripts/jest-native.mjs',
    roots: [`<rootDir>/test/${name}`],
    testMatch: ['**/*.spec.ts'],
    testPathIgnorePatterns: ['/node_modules/', ...without],
  };
}

const without = unloadable();

/** @type {import('jest').Config} */
export default {
  projects: [project('unit'), project('system'), project('long')],
  // One more than the two cores that the suite is made for: tests of containers and servers wait much of their time.
  maxWorkers: 3,
  testSequencer: '<rootDir>/scripts/jest-order.mjs',
  // A worker that begins anew loads bestk and its packages anew.
  workerIdleMemoryLimit: '1500MB',
  // Only what hangs meets it, however busy the machine is.
  testTimeout: 300_000,
};
