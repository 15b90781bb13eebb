/** `unit` needs no Docker, no browser and no other process's server; `system` has all three. */
function project(name) {
  return {
    displayName: name,
    testEnvironment: '<rootDir>/scripts/jest-environment.mjs',
    testRunner: '<rootDir>/scripts/jest-native.mjs',
    roots: [`<rootDir>/test/${name}`],
    testMatch: ['**/*.spec.ts'],
  };
}

/** @type {import('jest').Config} */
export default {
  projects: [project('unit'), project('system')],
  maxWorkers: 2,
  testSequencer: '<rootDir>/scripts/jest-order.mjs',
  // A worker that begins anew loads bestk and its packages anew.
  workerIdleMemoryLimit: '1500MB',
  // Only what hangs meets it, however busy the machine is.
  testTimeout: 300_000,
};
