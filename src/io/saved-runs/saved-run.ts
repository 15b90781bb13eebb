import { z } from 'zod';
import type { Trajectory } from '../../core/run/candidate.js';
import type { GeneratedTest } from '../../core/run/generated-test.js';
import type { Environment } from '../../core/run/issue.js';

/** Where a saved run was found, and its metadata; nothing here reveals the outcome. */
export interface Origin {
  readonly format: string;
  readonly file: string;
  readonly line: number | null;
  /** The original id, e.g. a trial's; null when it has none. */
  readonly id: string | null;
  readonly model: string | null;
  readonly cost_usd: number | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly model_calls: number | null;
  readonly exit_reason: string | null;
}

/**
 * A candidate of another tool, as a selector may see it. Readers copy named fields only, so no other data comes along.
 */
export interface SavedRun {
  readonly instance_id: string;
  /** Readable and stable; made unique within its instance later. */
  readonly candidate_id: string;
  readonly problem_statement: string | null;
  readonly image: string | null;
  /** Set if a run of bestk contains it in full. */
  readonly environment?: Environment | undefined;
  /** Empty when the run made none. */
  readonly patch: string;
  /** Text that the tool writes as the patch of its predictions, if that is not the patch. */
  readonly submitted?: string | undefined;
  readonly trajectory: Trajectory | null;
  readonly origin: Origin;
}

/** `instance`: a row of a benchmark, with gold patch and hidden tests. */
export const SealedKind = z.enum(['instance', 'test-log', 'reward', 'report']);
export type SealedKind = z.infer<typeof SealedKind>;

/** Data that may reveal whether a candidate is right. Kept apart from everything that verifies or selects. */
export interface Sealed {
  readonly instance_id: string;
  /** Null: of the candidate in the same folder. */
  readonly candidate_id: string | null;
  /** Name of the folder that may be the model's, if `candidate_id` is null. */
  readonly model_folder?: string | undefined;
  /**
   * Name of the summary of a whole run that it is from (`<model>.<run id>`): what is said of the single instance is more
   * exact.
   */
  readonly summary?: string | undefined;
  /** What people should be told of its file. */
  readonly warning?: string | undefined;
  /** The patch that was evaluated, where it is known: the label is of every candidate that has it. */
  readonly patch?: string | undefined;
  /** Null when it is not stated explicitly, or stated to be unknown. */
  readonly resolved: boolean | null;
  /** Why `resolved` is null, if that is stated. */
  readonly reason?: string | undefined;
  readonly sealed: readonly { readonly kind: SealedKind; readonly value: unknown }[];
}

/** Data about an instance besides its candidates. */
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
  /** Its key in an object. */
  readonly key?: string;
  /** Other files of a trial, by name, as text. */
  readonly beside?: ReadonlyMap<string, string>;
}

/** Reads one format, recognised by content. */
export interface RunReader {
  readonly format: string;
  recognises(value: Readonly<Record<string, unknown>>, record: SavedRecord): boolean;
  /** Columns of a row that are read, or that a candidate does without; absent for files of one run each. */
  columns?(value: Readonly<Record<string, unknown>>): readonly string[];
  /** @throws BadInputError naming file, line and field */
  read(record: SavedRecord): ReadRuns;
}

const MB = 1024 * 1024;

/** Limits of parsing, in bytes; larger items are rejected without being held in memory. */
export interface ReadBounds {
  readonly line: number;
  /** A multi-line document, which is held as a whole. */
  readonly document: number;
  /** JSON values in a line or document: they cost more memory than its bytes. */
  readonly values: number;
  /** Size of a file, both as uploaded and unpacked. */
  readonly total: number;
  readonly lines: number;
  /** Unreadable records, beyond which a file is not taken for a file of runs. */
  readonly rejects: number;
  /** Advice for users with a larger file. */
  readonly next: string;
}

/** For the user's own files: no trajectory is as long. */
export const LOCAL_BOUNDS: ReadBounds = {
  line: 128 * MB,
  document: 256 * MB,
  values: Infinity,
  total: Infinity,
  lines: Infinity,
  rejects: Infinity,
  next: 'leave out what is no step',
};

/** For uploads from clients: six times the longest line of the R2E-Gym runs. */
export const UPLOAD_BOUNDS: ReadBounds = {
  line: 16 * MB,
  document: 16 * MB,
  values: 1_000_000,
  total: 8 * 1024 * MB,
  lines: 1_000_000,
  rejects: 10_000,
  next: 'on the command line `bestk rescore` and `bestk report` take more',
};

/** The error text for a line or document with too many values. */
export function tooManyValues({ values, next }: ReadBounds): string {
  return `has more than ${values} values; ${next}`;
}

export function inMegabytes(bytes: number): string {
  return `${bytes / MB} MB`;
}
