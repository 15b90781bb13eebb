/** Times are milliseconds since 1970; JSON is text. The same tables serve SQLite and PostgreSQL. */
export interface RunsTable {
  id: string;
  /** What makes asking twice one run. */
  key: string;
  /** Content key of the request, to tell whether the same key asks for the same. */
  request_hash: string;
  status: string;
  failure: string | null;
  /** Who works on it, and until when nobody else may; null unless running. */
  owner: string | null;
  lease_until: number | null;
  last_seq: number;
  created_at: number;
  updated_at: number;
  /** When a unit of it was last given out; the run that waits longest is served next. */
  served_at: number;
  /** Name of the API key that asked for it, '' without one. */
  submitter: string;
  instance_id: string | null;
  k: number | null;
  preset: string | null;
  candidate_id: string | null;
  basis: string | null;
  deciding_stage: string | null;
  confidence: number | null;
  cost_usd: number | null;
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

export interface UnitsTable {
  /** Of the run and what is to be done: asking twice is one unit. */
  id: string;
  run_id: string;
  kind: string;
  /** Hash of the settings it is to be done under. */
  setup: string;
  payload: string;
  state: string;
  /** How often it was given out. */
  attempts: number;
  not_before: number;
  /** Who works on it, or did last. */
  owner: string | null;
  lease_until: number | null;
  outcome: string | null;
  created_at: number;
  ended_at: number | null;
}

/** Benchmark reports; `id` is the hash of the document. */
export interface ReportsTable {
  id: string;
  title: string;
  document: string;
  page: string;
  created_at: number;
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
  units: UnitsTable;
  runs: RunsTable;
  run_documents: RunDocumentsTable;
  run_events: RunEventsTable;
  results: ResultsTable;
  reports: ReportsTable;
}
