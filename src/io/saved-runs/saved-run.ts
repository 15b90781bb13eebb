import { z } from 'zod';
import type { Trajectory } from '../../core/run/candidate.js';
import type { GeneratedTest } from '../../core/run/generated-test.js';
import type { Environment } from '../../core/run/issue.js';

/** Where a saved run was found and what its author says of it; nothing here tells the outcome. */
export interface Origin {
  readonly format: string;
  readonly file: string;
  readonly line: number | null;
  /** The original's own id, e.g. a trial's; null when it has none. */
  readonly id: string | null;
  readonly model: string | null;
  readonly cost_usd: number | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly model_calls: number | null;
  readonly exit_reason: string | null;
}

/** A candidate of another tool, as a selector may see it. Readers copy named fields only, so nothing else comes along. */
export interface SavedRun {
  readonly instance_id: string;
  /** Readable and stable; made unique within its instance afterwards. */
  readonly candidate_id: string;
  readonly problem_statement: string | null;
  readonly image: string | null;
  /** Where bestk's own runs say it whole. */
  readonly environment?: Environment | undefined;
  /** Empty when the run made none. */
  readonly patch: string;
  readonly trajectory: Trajectory | null;
  readonly origin: Origin;
}

/** `instance`: a row of a benchmark, with gold patch and hidden tests. */
export const SealedKind = z.enum(['instance', 'test-log', 'reward', 'report']);
export type SealedKind = z.infer<typeof SealedKind>;

/** What tells, or may tell, whether a candidate is right. Kept apart from everything that verifies or selects. */
export interface Sealed {
  readonly instance_id: string;
  /** Null: of the candidate that the file stands beside. */
  readonly candidate_id: string | null;
  /** Null when it is not said outright. */
  readonly resolved: boolean | null;
  readonly sealed: readonly { readonly kind: SealedKind; readonly value: unknown }[];
}

/** What is known of an instance beside its candidates. */
export interface SavedIssue {
  readonly instance_id: string;
  readonly problem_statement: string;
  readonly image: string | null;
  readonly environment?: Environment | undefined;
}

export interface ReadRuns {
  readonly runs: readonly SavedRun[];
  readonly sealed: readonly Sealed[];
  readonly issues?: readonly SavedIssue[];
  readonly tests?: readonly GeneratedTest[];
}

/** One record of a file: a line of JSONL, a member of an object, an element of a list, or the whole file. */
export interface SavedRecord {
  readonly value: Readonly<Record<string, unknown>>;
  readonly file: string;
  readonly line?: number;
  readonly index?: number;
  /** Key that the record was filed under. */
  readonly key?: string;
  /** Files that stand beside a trial's trajectory, by name, as text. */
  readonly beside?: ReadonlyMap<string, string>;
}

/** Knows one format, by its content. */
export interface RunReader {
  readonly format: string;
  recognises(value: Readonly<Record<string, unknown>>, record: SavedRecord): boolean;
  /** @throws BadInputError naming file, line and field */
  read(record: SavedRecord): ReadRuns;
}

const MB = 1024 * 1024;

/** How much of a file is parsed at once, in bytes; what is larger is rejected without being held. */
export interface ReadBounds {
  readonly line: number;
  /** A document over several lines is held whole. */
  readonly document: number;
  /** In a line or document, and its lines: they cost more than its bytes. */
  readonly values: number;
  /** Of a file, packed or not. */
  readonly total: number;
  readonly lines: number;
  /** Records that cannot be read: with more, it is no file of runs. */
  readonly rejects: number;
  /** What whoever has a larger one can do. */
  readonly next: string;
}

/** Of one's own files: no trajectory is as long. */
export const LOCAL_BOUNDS: ReadBounds = {
  line: 128 * MB,
  document: 256 * MB,
  values: Infinity,
  total: Infinity,
  lines: Infinity,
  rejects: Infinity,
  next: 'leave out what is no step',
};

/** Of anybody's upload: six times the longest line of the R2E-Gym runs. */
export const UPLOAD_BOUNDS: ReadBounds = {
  line: 16 * MB,
  document: 16 * MB,
  values: 1_000_000,
  total: 8 * 1024 * MB,
  lines: 1_000_000,
  rejects: 10_000,
  next: 'on the command line `bestk rescore` and `bestk report` take more',
};

/** What is wrong with a line or document of more values than that. */
export function tooManyValues({ values, next }: ReadBounds): string {
  return `holds more than ${values} values; ${next}`;
}

/** Bytes in words. */
export function inMegabytes(bytes: number): string {
  return `${bytes / MB} MB`;
}
