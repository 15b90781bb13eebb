import { type RawBuilder, sql } from 'kysely';

/** Times are milliseconds since 1970; JSON is text. The same tables serve SQLite and PostgreSQL. */
export interface RunsTable {
  id: string;
  /** What makes asking twice one run. */
  key: string;
  /** Content key of the request, to tell whether the same key asks for the same. */
  request_hash: string;
  status: string;
  failure: string | null;
  /** Who works on it; null unless running. */
  owner: string | null;
  last_seq: number;
  created_at: number;
  updated_at: number;
  /** Name of the API key that asked for it, '' without one. */
  submitter: string;
  /** Names the settings that it was accepted under. */
  setup: string;
  /** 1 = a command's, which works on it itself. */
  alone: number;
  name: string | null;
  /** A JSON list. */
  tags: string;
  /** Id of the benchmark that it belongs to, and its arm there. */
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
  /** Of the result, what a look at the run says. */
  answer: string | null;
}

/** What can be megabytes, apart from the rows that lists read and that every event changes. */
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
  /** When it was last asked for, to within a day. */
  used_at: number;
}

/** What one part of a run's work has spent, and the room that its calls under way have taken. */
export interface SpendingsTable {
  run_id: string;
  part: string;
  tokens: number;
  usd: number;
  taken_tokens: number;
  taken_usd: number;
}

/** Benchmark reports; `id` is the hash of the document. */
export interface ReportsTable {
  id: string;
  title: string;
  document: string;
  page: string;
  created_at: number;
}

/** Data sets that are solved in several ways. */
export interface BenchmarksTable {
  id: string;
  /** What makes asking twice one benchmark. */
  key: string;
  /** Hash of what was sent in. */
  request_hash: string;
  title: string;
  status: string;
  note: string | null;
  submitter: string;
  /** What is to be done; '' until everything that was sent in is read. */
  plan: string;
  /** Hidden tests and gold patches by instance, for grading. */
  sealed: string;
  created_at: number;
  updated_at: number;
}

/** What grading said of a run's candidates. In a table of its own: nothing that samples, verifies or selects reads it. */
export interface GradesTable {
  run_id: string;
  /** 1 = what was selected resolves the issue; null = not known. */
  selected_right: number | null;
  graded: number;
  right_candidates: number;
  ungraded: number;
  /** A JSON list; null = not worked out. */
  best: string | null;
  document: string;
}

/** Who did what. */
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

/** Where the databases differ. */
export interface StoreDialect {
  /** Whether a write can take what another in the same statement returned. */
  readonly nestsWrites: boolean;
  /** The function that says where in a text another stands, from 1; 0 = nowhere. */
  readonly positionOf: 'instr' | 'strpos';
  /** What stands at a path in a column of JSON as text. */
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
