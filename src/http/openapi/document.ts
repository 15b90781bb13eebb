import { z } from 'zod';
import { Budget } from '../../core/budget/budget.js';
import { Cell } from '../../core/run/generated-test.js';
import { Calibration, Combiner, DataCard } from '../../core/run/fitted.js';
import { Environment, Issue } from '../../core/run/issue.js';
import { Measure, Verdict } from '../../core/run/verdict.js';
import { Preset, Stage, StageMeasure } from '../../core/run/preset.js';
import { RunRequest } from '../../core/run/run-request.js';
import { RunStatistics, Selection, Usage } from '../../core/run/run-result.js';
import { VerifierName } from '../../core/run/verifier.js';
import { BenchmarkSummary } from '../../ports/benchmark-store.js';
import { RunEvent, RunStatus, RunSummary } from '../../ports/run-store.js';
import {
  BenchmarkAccepted,
  BenchmarkCurves,
  BenchmarkPlots,
  BenchmarkView,
  RunLabels,
} from '../../runs/benchmark-service.js';
import { Cost, Estimate } from '../../runs/estimate.js';
import { Outcome } from '../../runs/outcomes.js';
import { ReadyReport } from '../../runs/readiness.js';
import { ReportMade, TakenIn, RescoreRun } from '../../runs/run-intake.js';
import { BenchmarkMoved, BenchmarkRunsView, BenchmarksView } from '../benchmarks/benchmarks.controller.js';
import { scopeOf, isOpen } from '../guard/caller.js';
import { AuditView } from '../ops/audit.js';
import { Problem } from '../problem.js';
import { ReportsView } from '../reports/reports.controller.js';
import {
  CompareAnswer,
  CompareRequest,
  RewardAnswer,
  RewardRequest,
  Rewards,
  SeedSessionRequest,
  VerifyAnswer,
  VerifyRequest,
} from '../rewards/reward-bodies.js';
import { EvidenceView, TestView } from '../runs/evidence-view.js';
import { JudgePromptView } from '../runs/judge-prompt-view.js';
import { CandidateView, RunAccepted, RunPageView, RunView, type Answer, type Operation } from '../runs/run-views.js';
import { Choices } from '../runs/runs.controller.js';
import { CellsView, StepsView } from '../runs/step-views.js';
import { describeFields, describeParameter, operations } from './operations.js';

type Json = Record<string, unknown>;

/** OpenAPI 3.1 document of the whole HTTP API. */
export interface OpenApiDocument {
  readonly openapi: '3.1.1';
  readonly info: Json;
  readonly security: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>>; readonly securitySchemes: Json };
}

/** Problems that any operation may answer with. */
const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The request cannot be parsed.',
  401: 'An API key is required.',
  403: 'The API key lacks the scope, or the request comes from another site’s page.',
  429: 'Too many requests; Retry-After says when to try again.',
  500: 'A bug in the service.',
  503: 'Something required does not respond; a later retry may succeed.',
};
const PROBLEMS_OF_BODIES: Readonly<Record<number, string>> = {
  408: 'The body arrives too slowly.',
  413: 'The body is too large.',
  415: 'The body’s content type is not accepted.',
};

/** @param version of bestk */
export function openApiDocument(version: string): OpenApiDocument {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = described(operation);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'bestk',
      version,
      summary: 'Picks the best of K patches for a GitHub issue, with the evidence for it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ bearer: [] }, { key: [] }, { basic: [] }, {}],
    paths,
    components: {
      schemas: components(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'One of BESTK_API_KEYS; required off loopback.' },
        key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
        basic: { type: 'http', scheme: 'basic', description: 'The key as the password of any user.' },
      },
    },
  };
}

function described(operation: Operation): Json {
  const { id, method, path, summary, body, answers, problems } = operation;
  const scope = isOpen(method, path) ? 'Needs no key.' : `Scope: \`${scopeOf(method, path)}\`.`;
  const ofBody = body === undefined ? {} : PROBLEMS_OF_BODIES;
  const failures = Object.entries({ ...PROBLEMS, ...ofBody, ...problems });
  return {
    operationId: id,
    summary,
    description: scope,
    ...(isOpen(method, path) ? { security: [] } : {}),
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body.types, body.schema) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)])),
      ...Object.fromEntries(failures.map(([status, description]) => [status, problemOf(description)])),
      default: problemOf('Any other problem.'),
    },
  };
}

function parametersOf({ path, query, headers = {} }: Operation): Json[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const ofQuery = query === undefined ? { properties: {} } : z.toJSONSchema(query, { io: 'input' });
  return [
    ...names.map((name) => ({
      name,
      in: 'path',
      required: true,
      description: describeParameter(name),
      schema: { type: 'string', minLength: 1 },
    })),
    ...Object.entries(ofQuery.properties ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      description: describeParameter(name),
      schema,
    })),
    ...Object.entries(headers).map(([name, { description, schema }]) => ({
      name,
      in: 'header',
      description,
      schema: { ...z.toJSONSchema(schema), $schema: undefined },
    })),
  ];
}

function responseOf({ description, type, others = [], schema, headers }: Answer): Json {
  const told = Object.entries(headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: { type: 'string' } },
  ]);
  return {
    description,
    ...(told.length === 0 ? {} : { headers: Object.fromEntries(told) as Json }),
    ...(type === undefined ? {} : { content: { ...contentOf([type], schema), ...contentOf(others) } }),
  };
}

function problemOf(description: string): Json {
  return { description, content: contentOf(['application/problem+json'], 'Problem') };
}

function contentOf(types: readonly string[], schema?: string): Json {
  return Object.fromEntries(types.map((type) => [type, mediaOf(type, schema)]));
}

/** OpenAPI 3.1 cannot describe the events of a stream; 3.2 calls it `itemSchema`. */
function mediaOf(type: string, schema?: string): Json {
  const reference = schema === undefined ? {} : { $ref: `#/components/schemas/${schema}` };
  if (type !== 'text/event-stream') return { schema: reference };
  return { schema: { type: 'string' }, 'x-event-data': reference };
}

type Schemas = Readonly<Record<string, z.ZodType>>;
type JsonSchema = Record<string, unknown>;

const Health = z.looseObject({ status: z.string() });

/** Schemas of request bodies, by their names in the document. */
export const REQUESTS: Schemas = {
  RunRequest,
  Issue,
  Environment,
  Budget,
  VerifierName,
  RescoreRun,
  Preset,
  Stage,
  StageMeasure,
  Combiner,
  Calibration,
  DataCard,
  RewardRequest,
  SeedSessionRequest,
  VerifyRequest,
  CompareRequest,
};

/** Schemas of answers. */
const ANSWERS: Schemas = {
  RunAccepted,
  Estimate,
  Cost,
  RunPage: RunPageView,
  RunSummary,
  Run: RunView,
  RunStatus,
  RunEvent,
  Selection,
  RunStatistics,
  Usage,
  Candidate: CandidateView,
  Verdict,
  Measure,
  Cell,
  Evidence: EvidenceView,
  Cells: CellsView,
  GeneratedTest: TestView,
  Steps: StepsView,
  JudgePrompt: JudgePromptView,
  Choices,
  ReportMade,
  Reports: ReportsView,
  Report: z.looseObject({ kind: z.literal('bestk-report'), schema: z.literal(1), title: z.string() }),
  RescoreAccepted: TakenIn,
  Outcome,
  Rewards,
  RewardAnswer,
  VerifyAnswer,
  CompareAnswer,
  BenchmarkAccepted,
  BenchmarkMoved,
  Benchmarks: BenchmarksView,
  BenchmarkSummary,
  Benchmark: BenchmarkView,
  BenchmarkRuns: BenchmarkRunsView,
  BenchmarkCurves,
  BenchmarkPlots,
  RunLabels,
  BenchmarkReport: z.looseObject({ kind: z.literal('bestk-bench-report'), schema: z.literal(1), title: z.string() }),
  Audit: AuditView,
  Problem,
  Health,
  Readiness: ReadyReport,
};

const PREFIX = '#/components/schemas/';

/** The document's schemas, as JSON Schema 2020-12, which OpenAPI 3.1 uses. */
export function components(): Record<string, JsonSchema> {
  const requests = converted(REQUESTS, 'input');
  for (const [name, schema] of Object.entries(requests)) describeFields(schema, name);
  return { ...requests, ...converted(ANSWERS, 'output'), Json: { description: 'Any JSON value.' } };
}

function converted(schemas: Schemas, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { io, uri: (id) => `${PREFIX}${id}`, override: tidy }).schemas;
  const named = Object.entries(made)
    .filter(([id]) => id in schemas)
    .map(([id, schema]) => [id, { ...schema, $schema: undefined, $id: undefined }]);
  // The only schema that zod shares without a name is `z.json()`, which refers to itself.
  const text = JSON.stringify(named).replaceAll(/#\/components\/schemas\/__shared#\/\$defs\/\w+/g, `${PREFIX}Json`);
  return Object.fromEntries(JSON.parse(text) as [string, JsonSchema][]);
}

function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  // `format` expresses the same, readably.
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.format === 'starts_with') delete jsonSchema.format;
  // The limits of any integer in JSON.
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
