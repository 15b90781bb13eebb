import { contentKey } from '../core/fingerprint.js';
import { briefOfRequest, briefOfResult, RunBrief } from '../core/run/run-result.js';
import { RunAnswer } from '../core/run/run-result.js';
import {
  type Acceptance,
  Run,
  type RunCensus,
  type RunEvent,
  type RunOverview,
  RunStatus,
  type RunSummary,
} from '../ports/run-store.js';
import type { RunDocumentsTable, RunEventsTable, RunsTable } from './schema.js';

const BRIEF_COLUMNS = [
  'name',
  'tags',
  'instance_id',
  'k',
  'preset',
  'candidate_id',
  'basis',
  'deciding_stage',
  'confidence',
  'tokens',
  'cost_usd',
  'seconds',
] as const satisfies readonly (keyof RunBrief)[];
const STATE_COLUMNS = ['id', 'status', 'failure', 'created_at', 'updated_at'] as const;
export const SUMMARY_COLUMNS = [...STATE_COLUMNS, ...BRIEF_COLUMNS, 'benchmark', 'arm'] as const;
export const OVERVIEW_COLUMNS = [...STATE_COLUMNS, 'answer'] as const;

type StateRow = Pick<RunsTable, (typeof STATE_COLUMNS)[number]>;

/** A key as every database can hold it: PostgreSQL's text takes neither NUL nor half a character. */
export function keyText(key: string): string {
  return /[\0\p{Surrogate}]/u.test(key) ? contentKey(key) : key;
}

/** @throws ZodError or SyntaxError for a row that bestk did not write */
export function summaryOf(row: Pick<RunsTable, (typeof SUMMARY_COLUMNS)[number]>): RunSummary {
  const { name, tags, instance_id, k, preset, candidate_id, basis, deciding_stage, confidence } = row;
  const { tokens, cost_usd, seconds, benchmark, arm } = row;
  return {
    ...stateOf(row),
    ...{ name, tags: TAGS.parse(JSON.parse(tags)), instance_id, k, preset, candidate_id, basis, deciding_stage },
    ...{ confidence, tokens, cost_usd, seconds, benchmark, arm },
  };
}

/** @throws ZodError or SyntaxError for a row that bestk did not write */
export function overviewOf(row: StateRow & Pick<RunsTable, 'answer'>): Omit<RunOverview, 'progress'> {
  const answer = row.answer === null ? null : RunAnswer.parse(JSON.parse(row.answer));
  return { ...stateOf(row), answer };
}

/** As a column; null also for a result of another shape. */
export function answerOf(result: unknown): string | null {
  const answer = RunAnswer.safeParse(result);
  return answer.success ? JSON.stringify(answer.data) : null;
}

export function runOf(row: StateRow & Pick<RunDocumentsTable, 'request' | 'result'>): Run {
  return {
    ...stateOf(row),
    request: JSON.parse(row.request) as Run['request'],
    result: row.result === null ? null : (JSON.parse(row.result) as Run['result']),
  };
}

/** A run whose row was just made. */
export function freshRun(row: StateRow, request: Run['request']): Run {
  return { ...stateOf(row), request, result: null };
}

export function eventOf(row: Omit<RunEventsTable, 'run_id'>): RunEvent {
  return { seq: row.seq, at: isoTime(row.at), type: row.type, data: JSON.parse(row.data) as RunEvent['data'] };
}

/** @param rows one a status that any run has; `oldest` is when the status last changed that changed longest ago */
export function censusOf(
  rows: readonly { readonly status: string; readonly runs: number | bigint | string; readonly oldest: unknown }[],
): RunCensus {
  const counts = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
  for (const { status, runs } of rows) counts[RunStatus.parse(status)] = Number(runs);
  const queued = rows.find(({ status }) => status === 'queued');
  return { counts, oldestQueued: queued === undefined ? null : isoTime(Number(queued.oldest)) };
}

export function newRow(key: string, request: Run['request'], id: string, how: Acceptance): RunsTable {
  const now = Date.now();
  return {
    id,
    key,
    request_hash: contentKey(request),
    status: 'queued',
    failure: null,
    owner: null,
    last_seq: 1,
    created_at: now,
    updated_at: now,
    submitter: keyText(how.submitter ?? ''),
    setup: how.setup ?? '',
    alone: how.alone === true ? 1 : 0,
    ...asColumns(briefOfRequest(request)),
    ...briefOfResult(null),
    answer: null,
    benchmark: how.benchmark?.id ?? null,
    arm: how.benchmark?.arm ?? null,
  };
}

const TAGS = RunBrief.shape.tags;

/** What a request says of its run; names are shown alone. */
function asColumns({ name, tags, ...brief }: ReturnType<typeof briefOfRequest>) {
  return { ...brief, name: name === null ? null : keyText(name), tags: JSON.stringify(tags) };
}

/** A run that is not running belongs to nobody. */
export function columnsOf({ status, result, failure }: Partial<Run>): Partial<RunsTable> {
  return {
    updated_at: Date.now(),
    ...(status === undefined ? {} : { status }),
    ...(status === undefined || status === 'running' ? {} : { owner: null }),
    ...(result === undefined ? {} : { ...briefOfResult(result), answer: answerOf(result) }),
    ...(failure === undefined ? {} : { failure: failure === null ? null : JSON.stringify(failure) }),
  };
}

function stateOf(row: StateRow): Pick<Run, (typeof STATE_COLUMNS)[number]> {
  return {
    id: row.id,
    status: Run.shape.status.parse(row.status),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
    failure: Run.shape.failure.parse(row.failure === null ? null : JSON.parse(row.failure)),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
