/** Both kinds of files through swc; only .tsx may hold JSX, which is Preact's. */
function swc(tsx) {
  return [
    '@swc/jest',
    {
      jsc: {
        target: 'es2022',
        parser: { syntax: 'typescript', decorators: true, tsx },
        transform: {
          legacyDecorator: true,
          decoratorMetadata: true,
          react: { runtime: 'automatic', importSource: 'preact' },
        },
      },
      module: { type: 'es6' },
    },
  ];
}

const transform = { '^.+\\.ts$': swc(false), '^.+\\.tsx$': swc(true) };

/** `unit` needs no Docker, no browser and no other process's server; `system` has all three. */
function project(name, more = {}) {
  return {
    displayName: name,
    testEnvironment: '<rootDir>/scripts/jest-environment.mjs',
    roots: [`<rootDir>/test/${name}`],
    testMatch: ['**/*.spec.ts'],
    extensionsToTreatAsEsm: ['.ts', '.tsx'],
    moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
    transform,
    ...more,
  };
}

/** @type {import('jest').Config} */
export default {
  projects: [project('unit'), project('system')],
  maxWorkers: 2,
  workerIdleMemoryLimit: '400MB',
  // Only what hangs meets it, however busy the machine is.
  testTimeout: 120_000,
};
