// The rooms of the house and the one direction between them; docs/decisions/0001-rooms-and-build.md says why.

/** What each room may import, beside itself: rooms and packages. A room that is not named here does not exist. */
const ROOMS = {
  core: { packages: ['zod', 'diff'], builtIns: ['crypto', 'async_hooks', 'events', 'timers'] },
  ports: { rooms: ['core'], packages: ['zod'] },
  telemetry: { rooms: ['ports', 'core'] },
  store: { rooms: ['ports', 'core'] },
  models: { rooms: ['ports', 'core'] },
  sandbox: { rooms: ['ports', 'core'] },
  agent: { rooms: ['ports', 'core'], packages: ['zod'], builtIns: [] },
  statistics: { rooms: ['core'], hybrid: true, packages: ['zod'], builtIns: [] },
  io: { rooms: ['statistics', 'core'] },
  jobs: { rooms: ['ports', 'core'] },
  runs: {
    rooms: ['jobs', 'agent', 'ports', 'core'],
    hybrid: true,
    packages: ['@nestjs/common', 'zod'],
    builtIns: ['events'],
  },
  grading: { rooms: ['io', 'ports', 'core'], reports: true, packages: ['zod'] },
  reports: { rooms: ['grading', 'runs', 'io', 'statistics', 'ports', 'core'], hybrid: true },
  http: {
    rooms: ['runs', 'jobs', 'ports', 'core'],
    packages: [
      '@nestjs/common',
      '@nestjs/core',
      '@nestjs/platform-express',
      'rxjs',
      'zod',
      'express',
      '@types/express',
    ],
    builtIns: ['buffer', 'crypto', 'fs', 'http', 'path', 'stream', 'zlib'],
  },
  web: { rooms: ['http', 'ports', 'statistics', 'core'], packages: ['preact'], builtIns: [] },
  benchmarks: { rooms: ['reports', 'grading', 'jobs', 'runs', 'io', 'ports', 'core'] },
  commands: { rooms: ['benchmarks', 'reports', 'grading', 'runs', 'io', 'statistics', 'ports', 'core'], hybrid: true },
};

/** Readers of what test runners print, which verification and grading share. */
const READERS = '^verifiers/execution-based/reports/';

const anyOf = (names) => `(${names.join('|')})`;
const escaped = (name) => name.replaceAll('/', '\\/');

/** A room imports itself and what its line says; without a list of packages or built-ins it may import any. */
function ruleOf([room, { rooms = [], hybrid = false, reports = false, packages, builtIns }]) {
  const allowed = [
    `^src/${anyOf([room, ...rooms])}/`,
    ...(hybrid ? ['^verifiers/hybrid/'] : []),
    ...(reports ? [READERS] : []),
  ];
  if (packages === undefined) allowed.push('^node_modules/');
  else if (packages.length > 0) allowed.push(`^node_modules/${anyOf(packages.map(escaped))}/`);
  const types = packages === undefined || builtIns === undefined ? { dependencyTypesNot: ['core'] } : {};
  if (builtIns !== undefined && builtIns.length > 0) allowed.push(`^${anyOf(builtIns)}(/|$)`);
  return {
    name: `${room}-knows-its-neighbours`,
    severity: 'error',
    from: { path: `^src/${room}/` },
    to: { pathNot: allowed, ...types },
  };
}

module.exports = {
  forbidden: [
    ...Object.entries(ROOMS).map(ruleOf),
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: ['\\.d\\.ts$', '^test/', '^scripts/'] },
      to: {},
    },
    {
      name: 'verifiers-are-framework-free',
      severity: 'error',
      from: { path: '^verifiers/' },
      to: { pathNot: ['^verifiers/', '^src/(core|ports)/', '^node_modules/(zod|saxes)/'] },
    },
    {
      name: 'the-hybrid-is-pure',
      severity: 'error',
      from: { path: '^verifiers/hybrid/' },
      to: { pathNot: ['^verifiers/hybrid/', '^src/core/', '^node_modules/zod/'] },
    },
    {
      // Tables that were made once do not change with the code: a migration that imported it would make other ones today.
      name: 'migrations-import-no-code-of-today',
      severity: 'error',
      from: { path: '^src/store/migrations\\.ts$' },
      to: { pathNot: ['^src/core/errors/', '^node_modules/kysely/'] },
    },
    {
      // What they share is the reading of the repository at base.
      name: 'verifiers-do-not-know-each-other',
      severity: 'error',
      from: { path: '^verifiers/([^/]+)/' },
      to: { path: '^verifiers/([^/]+)/', pathNot: '^verifiers/($1|source)/' },
    },
    {
      name: 'only-the-composition-root-loads-verifiers',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(app|grading)/' },
      to: { path: '^verifiers/', pathNot: '^verifiers/hybrid/' },
    },
    {
      name: 'readers-of-reports-are-pure',
      severity: 'error',
      from: { path: READERS },
      to: { pathNot: [READERS, '^src/(core|ports)/', '^node_modules/(zod|saxes)/'] },
    },
    {
      name: 'labels-are-out-of-reach-of-selection',
      severity: 'error',
      from: {
        path: '^(verifiers|src/(core|ports|agent|runs|jobs|io/(records|inputs)|models|sandbox|store|telemetry|http)|prompts)/',
      },
      to: {
        path: '^src/(grading/|io/(saved-runs|datasets)/|reports/(benchmark/|exports/|grade-|labels|scored-|set-files|write-import))',
        reachable: true,
      },
    },
    {
      name: 'the-viewer-takes-types-alone',
      severity: 'error',
      from: { path: '^src/web/' },
      // What is unseen is the same in a browser as everywhere; the file imports nothing.
      to: {
        pathNot: ['^src/web/', '^src/core/hostile-text.ts$', '^node_modules/preact/'],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'one-door-per-sdk',
      severity: 'error',
      from: { pathNot: '^(src/(sandbox|models|store|telemetry)/|src/jobs/queue-server\\.ts$|test/)' },
      to: {
        path: '^node_modules/(openai|dockerode|@kubernetes/client-node|better-sqlite3|kysely|pg|liquidjs|tar-stream|undici|prom-client|@opentelemetry)/',
      },
    },
    {
      name: 'one-door-for-tools-of-agents',
      severity: 'error',
      from: { pathNot: '^(src/commands/mcp/|test/)' },
      to: { path: '^node_modules/@modelcontextprotocol/' },
    },
    {
      name: 'one-file-draws',
      severity: 'error',
      from: { pathNot: '^(src/reports/plots/draw-plot\\.ts$|test/)' },
      to: { path: '^node_modules/(vega|vega-lite|@resvg|dejavu-fonts-ttf)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'every-file-belongs-to-a-room',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(${anyOf(['app', ...Object.keys(ROOMS)])}/|(main|worker|cli)\\.ts$)` },
      to: {},
    },
    {
      name: 'production-does-not-import-tests',
      severity: 'error',
      from: { path: '^(src|verifiers)/' },
      to: { path: '^test/' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
