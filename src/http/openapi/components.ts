import { z } from 'zod';
import { Budget } from '../../core/budget/budget.js';
import { Cell } from '../../core/run/cell.js';
import { Calibration, Combiner, DataCard } from '../../core/run/fitted.js';
import { Environment, Issue } from '../../core/run/issue.js';
import { Measure } from '../../core/run/measure.js';
import { Preset, Stage, StageMeasure } from '../../core/run/preset.js';
import { RunRequest } from '../../core/run/run-request.js';
import { RunStatistics, Usage } from '../../core/run/run-result.js';
import { Selection } from '../../core/run/selection.js';
import { Verdict } from '../../core/run/verdict.js';
import { VerifierName } from '../../core/run/verifier.js';
import { Outcome } from '../../runs/outcomes.js';
import { ReadyReport } from '../../runs/readiness.js';
import { ReportMade } from '../../runs/report-maker.js';
import { RescoreRun } from '../../runs/rescore-run.js';
import { TakenIn } from '../../runs/rescore-intake.js';
import { RunEvent, RunStatus, RunSummary } from '../../ports/run-store.js';
import { BenchmarkSummary } from '../../ports/benchmark-store.js';
import { BenchmarkAccepted } from '../../runs/benchmark-intake.js';
import { BenchmarkCurves, BenchmarkPlots, BenchmarkView, RunLabels } from '../../runs/benchmark-service.js';
import { BenchmarkMoved, BenchmarkRunsView, BenchmarksView } from '../benchmarks/benchmarks.controller.js';
import { AuditView } from '../ops/audit.controller.js';
import { CellsView } from '../runs/step-views.js';
import { EvidenceView, TestView } from '../runs/evidence-view.js';
import { JudgePromptView } from '../runs/judge-prompt-view.js';
import { describeFields } from './field-descriptions.js';
import { Problem } from '../problem.js';
import { ReportsView } from '../reports/reports.controller.js';
import { RunPageView } from '../runs/run-page.js';
import { Choices } from '../runs/rescore.controller.js';
import { StepsView } from '../runs/step-views.js';
import {
  CompareAnswer,
  CompareRequest,
  RewardAnswer,
  RewardRequest,
  Rewards,
  VerifyAnswer,
  VerifyRequest,
} from '../rewards/reward-bodies.js';
import { CandidateView, RunAccepted, RunView } from '../runs/run-views.js';

type Schemas = Readonly<Record<string, z.ZodType>>;
type JsonSchema = Record<string, unknown>;

const Health = z.looseObject({ status: z.string() });

/** By the names they have in the document; what a client sends. */
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
  VerifyRequest,
  CompareRequest,
};

/** What the service answers. */
const ANSWERS: Schemas = {
  RunAccepted,
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

/** The schemas of the document, as JSON Schema 2020-12, which is what OpenAPI 3.1 takes. */
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
  // What zod shares without a name is `z.json()`, which refers to itself.
  const text = JSON.stringify(named).replaceAll(/#\/components\/schemas\/__shared#\/\$defs\/\w+/g, `${PREFIX}Json`);
  return Object.fromEntries(JSON.parse(text) as [string, JsonSchema][]);
}

function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  // `format` says the same, and can be read.
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.format === 'starts_with') delete jsonSchema.format;
  // JSON's own limits of an integer.
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
