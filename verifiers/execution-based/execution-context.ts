import type { RemoteExecutor, CellJob, GeneratedTest } from '../../src/core/run/generated-test.js';
import type { RecordReader } from './readers/run-record.js';
import type { Bytecode } from './tree/bytecode.js';
import type { Issue } from '../../src/core/run/issue.js';
import type { ResultStore } from '../../src/ports/result-store.js';
import { type Sandbox, sandboxContent } from '../../src/ports/sandbox.js';
import { type Tracer, UNTRACED } from '../../src/ports/telemetry.js';

/** Seconds of existing tests a patch, where nobody says otherwise. */
export const REGRESSION_S = 120;

/** What every execution of one instance shares. */
export interface ExecutionContext {
  readonly sandbox: Sandbox;
  readonly results: ResultStore;
  readonly issue: Issue;
  /** Content id of the image: a rebuilt image is another context. */
  readonly imageId: string;
  readonly bytecode: Bytecode;
  readonly nonce: () => string;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Told of each verdict and suite while it runs; absent = nobody is. */
  readonly tracer?: Tracer;
  /** How often a failing container is replaced in all; absent = three times. */
  readonly tries?: number | undefined;
  /** Reads what runs of the existing tests left behind; absent = it is read where it is called. */
  readonly read?: RecordReader | undefined;
  /** What the existing tests of one patch may take, in seconds on base, where bestk chooses them. */
  readonly regressionS: number;
  /** Asked before anything is executed here; absent = here is where it is executed. */
  readonly remote?: RemoteExecutor | undefined;
}

/** Runs a suite on a tree, as a part of what it is called in. */
export function asSuite<T>(
  { tracer = UNTRACED }: ExecutionContext,
  suite: string,
  { tree, repeat }: TreeRun,
  run: () => Promise<T>,
): Promise<T> {
  const facts = { on: tree === null ? 'base' : 'candidate', repeat };
  return tracer.within({ kind: 'suite', name: suite, facts }, run);
}

/** The repository at base with a source patch on top; null = base itself. */
export type Tree = string | null;

/** A tree, and which of the equal runs on it: base is run twice, as 0 and 1, a candidate once, as 0. */
export interface TreeRun {
  readonly tree: Tree;
  readonly repeat: number;
}

/** Raise this when what is run around a test or a patch, or how its outcome is read, changes: stored results are then stale. */
const PROTOCOL = 4;

/** Everything of the context that an outcome can depend on; part of each result's key. */
export function contextKey({ imageId, issue, sandbox }: ExecutionContext): Record<string, unknown> {
  const { environment } = issue;
  const { test_timeout_s } = environment;
  return { protocol: PROTOCOL, image: imageId, ...sandboxContent(environment), test_timeout_s, limits: sandbox.limits };
}

/** What is to be executed on a tree, as others get it; tests null = the regression command. */
export function cellJob(
  { issue }: Pick<ExecutionContext, 'issue'>,
  { tree, repeat }: TreeRun,
  tests: readonly GeneratedTest[] | null,
): CellJob {
  const { instance_id, environment } = issue;
  return { instance_id, environment, tree, repeat, tests: tests === null ? null : [...tests] };
}

/** Whole numbers from 0 up to and without the one given, out of unguessable text. */
export function randomFrom(nonce: () => string): (below: number) => number {
  let left = '';
  return (below) => {
    if (left.length < 8) left += nonce();
    const digits = left.slice(0, 8);
    left = left.slice(8);
    return Number.parseInt(digits, 36) % below;
  };
}
