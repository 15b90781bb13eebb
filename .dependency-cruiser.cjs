// The rooms of the house and the one direction between them; docs/decisions/0001-rooms.md says why.
const core = ['^src/core/', '^node_modules/(zod|diff)/', '^crypto$'];
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: ['\\.d\\.ts$', '^test/', '^scripts/'] },
      to: {},
    },
    { name: 'core-is-pure', severity: 'error', from: { path: '^src/core/' }, to: { pathNot: core } },
    {
      name: 'ports-know-only-core',
      severity: 'error',
      from: { path: '^src/ports/' },
      to: { pathNot: ['^src/(ports|core)/', '^node_modules/zod/'] },
    },
    {
      name: 'statistics-is-pure',
      severity: 'error',
      from: { path: '^src/statistics/' },
      to: { pathNot: ['^src/(statistics|core)/', '^verifiers/hybrid/', '^node_modules/zod/'] },
    },
    {
      name: 'verifiers-are-framework-free',
      severity: 'error',
      from: { path: '^verifiers/' },
      to: { pathNot: ['^verifiers/', '^src/(core|ports)/', '^node_modules/(zod|fast-xml-parser)/'] },
    },
    {
      name: 'the-hybrid-is-pure',
      severity: 'error',
      from: { path: '^verifiers/hybrid/' },
      to: { pathNot: ['^verifiers/hybrid/', '^src/core/', '^node_modules/zod/'] },
    },
    {
      name: 'verifiers-do-not-know-each-other',
      severity: 'error',
      from: { path: '^verifiers/([^/]+)/' },
      to: { path: '^verifiers/([^/]+)/', pathNot: '^verifiers/$1/' },
    },
    {
      name: 'only-the-composition-root-loads-verifiers',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(app\\.module|run-kits|cli)\\.ts$|^src/(statistics|pipeline|reports|commands)/',
      },
      to: { path: '^verifiers/' },
    },
    {
      name: 'only-selection-rules-leave-the-verifiers',
      severity: 'error',
      from: { path: '^src/(statistics|pipeline|reports|commands)/' },
      to: { path: '^verifiers/', pathNot: '^verifiers/hybrid/' },
    },
    {
      name: 'agent-knows-ports',
      severity: 'error',
      from: { path: '^src/agent/' },
      to: { pathNot: ['^src/(agent|core|ports)/', '^node_modules/zod/'] },
    },
    {
      name: 'pipeline-knows-ports-not-adapters',
      severity: 'error',
      from: { path: '^src/pipeline/' },
      to: {
        pathNot: [
          '^src/(pipeline|agent|ports|core|reports)/',
          '^verifiers/hybrid/',
          '^node_modules/(@nestjs/common|zod)/',
          '^events$',
        ],
      },
    },
    {
      name: 'grading-is-a-room-of-its-own',
      severity: 'error',
      from: { path: '^src/grading/' },
      to: { pathNot: ['^src/(grading|ports|core|formats)/', '^node_modules/zod/'] },
    },
    {
      name: 'labels-are-out-of-reach-of-selection',
      severity: 'error',
      from: { path: '^(verifiers|src/(core|ports|agent|pipeline|formats/[^/]+\.ts|adapters|http)|prompts)' },
      to: {
        path: '^src/(grading/|formats/runs/|reports/(benchmark/|grade-|read-labels|import-|scored-|rescore-|export-|write-import))',
        reachable: true,
      },
    },
    {
      name: 'adapters-do-not-know-the-pipeline',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: '^(src/(pipeline|http|commands|reports|formats)|verifiers)/' },
    },
    {
      name: 'http-is-thin',
      severity: 'error',
      from: { path: '^src/http/' },
      to: {
        pathNot: [
          '^src/(http|pipeline|ports|core)/',
          '^node_modules/(@nestjs/common|@nestjs/core|@nestjs/platform-express|rxjs|zod|express|@types/express)/',
          '^(buffer|crypto|fs|http|path|stream|zlib)$',
        ],
      },
    },
    {
      name: 'the-viewer-talks-http',
      severity: 'error',
      from: { path: '^src/web/' },
      to: { pathNot: ['^src/web/', '^node_modules/preact/'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-viewer-knows-the-views-alone',
      severity: 'error',
      from: { path: '^src/web/' },
      to: { pathNot: ['^src/web/', '^node_modules/preact/', '^src/(http|core|ports)/'] },
    },
    {
      name: 'nobody-imports-the-viewer',
      severity: 'error',
      from: { path: '^(src|verifiers)/', pathNot: '^src/web/' },
      to: { path: '^src/web/' },
    },
    {
      name: 'one-door-per-sdk',
      severity: 'error',
      from: { pathNot: '^(src/adapters|test/adapters)/|^test/fixtures/tracing-sdk\.mjs$' },
      to: {
        path: '^node_modules/(openai|dockerode|@kubernetes/client-node|better-sqlite3|kysely|pg|liquidjs|tar-stream|undici|prom-client|@opentelemetry)/',
      },
    },
    {
      name: 'one-file-draws',
      severity: 'error',
      from: { pathNot: '^(src/reports/plots/draw-plot\\.ts$|test/reports/)' },
      to: { path: '^node_modules/(vega|vega-lite|@resvg|dejavu-fonts-ttf)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'every-file-belongs-to-a-room',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/((core|statistics|ports|agent|pipeline|formats|grading|reports|adapters|http|web|commands)/|(main|worker|daemon|cli|app\\.module|import-thread|report-thread|application|run-kits|spread-providers|sandbox-providers|watching|config|config-parts|settings|logger|version)\\.ts$)',
      },
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
