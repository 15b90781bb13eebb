import { type RawBuilder, sql } from 'kysely';

/** Times are milliseconds since 1970; JSON is stored as text. SQLite and PostgreSQL have the same tables. */
export interface RunsTable {
  id: string;
  /** Idempotency key: repeated requests with the same key get the same run. */
  key: string;
  /** Content key of the request, to detect a key reused for a different request. */
  request_hash: string;
  status: string;
  failure: string | null;
  /** The process working on it; null unless running. */
  owner: string | null;
  last_seq: number;
  created_at: number;
  updated_at: number;
  /** Name of the API key that submitted it, '' without one. */
  submitter: string;
  /** Identifies the settings under which it was accepted. */
  setup: string;
  /** 1 = created by a command, which executes it itself. */
  alone: number;
  name: string | null;
  /** A JSON list. */
  tags: string;
  /** Id of its benchmark, and its arm there. */
  benchmark: string | null;
  arm: string | null;
  instance_id: string | null;
  k: number | null;
  preset: string | null;
  candidate_id: string | null;
  basis: string | null;
  deciding_stage: string | null;
  confidence: number | null;
  tokens: number | null;
  cost_usd: number | null;
  seconds: number | null;
  /** The part of the result shown in a run's overview. */
  answer: string | null;
}

/** Documents of up to megabytes, kept out of the rows that lists read and every event updates. */
export interface RunDocumentsTable {
  run_id: string;
  request: string;
  result: string | null;
}

export interface RunEventsTable {
  run_id: string;
  seq: number;
  at: number;
  type: string;
  data: string;
}

export interface ResultsTable {
  key: string;
  kind: string;
  value: string;
  created_at: number;
  /** Time of last use, to within a day. */
  used_at: number;
}

/** What one part of a run's work has spent, and the room reserved by its calls in progress. */
export interface SpendingsTable {
  run_id: string;
  part: string;
  tokens: number;
  usd: number;
  /** Reserved since the part was begun last. */
  taken_tokens: number;
  taken_usd: number;
  /** How often the part was begun. */
  begun: number;
}

/** Benchmark reports; `id` is the hash of the document. */
export interface ReportsTable {
  id: string;
  title: string;
  document: string;
  page: string;
  created_at: number;
}

/** Benchmarks: data sets solved by several arms. */
export interface BenchmarksTable {
  id: string;
  /** Idempotency key: repeated requests with the same key get the same benchmark. */
  key: string;
  /** Hash of the upload. */
  request_hash: string;
  title: string;
  status: string;
  note: string | null;
  submitter: string;
  /** Identifies the settings under which it was accepted. */
  setup: string;
  /** What is to be done; '' until the upload is read completely. */
  plan: string;
  /** Hidden tests and gold patches by instance, for grading. */
  sealed: string;
  created_at: number;
  updated_at: number;
}

/** Grades of a run's candidates. A separate table that nothing that samples, verifies or selects reads. */
export interface GradesTable {
  run_id: string;
  /** 1 = the selected patch resolves the issue; null = unknown. */
  selected_right: number | null;
  graded: number;
  right_candidates: number;
  ungraded: number;
  /** A JSON list; null = not computed. */
  best: string | null;
  document: string;
}

/** The audit log. */
export interface AuditTable {
  id: string;
  at: number;
  action: string;
  actor: string | null;
  address: string;
  run_id: string | null;
  outcome: string;
  times: number;
}

export interface Database {
  audit: AuditTable;
  spendings: SpendingsTable;
  runs: RunsTable;
  run_documents: RunDocumentsTable;
  run_events: RunEventsTable;
  results: ResultsTable;
  reports: ReportsTable;
  benchmarks: BenchmarksTable;
  grades: GradesTable;
}

/** Differences between the databases. */
export interface StoreDialect {
  /** Whether a write can use rows returned by another write in the same statement. */
  readonly nestsWrites: boolean;
  /** The function that returns the position of a substring, from 1; 0 = not found. */
  readonly positionOf: 'instr' | 'strpos';
  /** The value at a path in a text column that holds JSON. */
  readonly memberOf: (column: string, path: readonly string[]) => RawBuilder<number | string | null>;
}

export const SQLITE: StoreDialect = {
  nestsWrites: false,
  positionOf: 'instr',
  memberOf: (column, path) => sql`json_extract(${sql.ref(column)}, ${`$.${path.join('.')}`})`,
};
export const POSTGRES: StoreDialect = {
  nestsWrites: true,
  positionOf: 'strpos',
  memberOf: (column, path) => sql`${sql.ref(column)}::json #>> ${`{${path.join(',')}}`}::text[]`,
};
