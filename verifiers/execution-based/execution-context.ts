import {
  type ExecRequest,
  type Ids,
  type SandboxSession,
  type Sandbox,
  sandboxContent,
} from '../../src/ports/sandbox.js';
import type { RemoteExecutor, CellJob, GeneratedTest, Cell } from '../../src/core/run/generated-test.js';
import type { RecordReader } from './readers/run-record.js';
import type { Issue } from '../../src/core/run/issue.js';
import type { ResultStore } from '../../src/ports/result-store.js';
import { type Tracer, UNTRACED } from '../../src/ports/telemetry.js';
import { BestkError, DoesNotApplyError } from '../../src/core/errors/errors.js';
import type { MeasureName, AbstainReason, Verdict } from '../../src/core/run/verdict.js';

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

/** Candidates whose normalised source patches are equal: verified once, under the first one's id. */
export interface DistinctPatch {
  readonly representative: string;
  readonly candidateIds: readonly string[];
  /** What is applied for verification: source hunks alone, tests and runner configuration set apart. */
  readonly source: string;
}

/** Raise this when what is run around a test or a patch, or how its outcome is read, changes: stored results are then stale. */
const PROTOCOL = 5;

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

/** The same abstention for every candidate of these patches. */
export function abstained(
  patches: readonly Pick<DistinctPatch, 'candidateIds'>[],
  measure: MeasureName,
  reason: AbstainReason,
  detail: string,
): Verdict[] {
  return patches.flatMap(({ candidateIds }) =>
    candidateIds.map(
      (candidate_id) => ({ kind: 'abstained', candidate_id, measure, reason, detail, evidence: {} }) as const,
    ),
  );
}

const ABSTAINED_FOR: Readonly<Record<string, AbstainReason>> = {
  'sandbox-lost': 'infrastructure',
  [DoesNotApplyError.code]: 'does-not-apply',
};

/**
 * Verifies all patches at once. One that git cannot apply, or under which the sandbox kept being lost, abstains; a dead engine,
 * a missing image or a full disk concerns all and ends the run.
 */
export async function forEach(
  patches: readonly DistinctPatch[],
  measure: MeasureName,
  verify: (patch: DistinctPatch) => Promise<readonly Verdict[]>,
  tracer: Tracer = UNTRACED,
): Promise<readonly Verdict[]> {
  const verdicts = await Promise.all(
    patches.map(async (patch) => {
      try {
        const facts = { candidate: patch.representative };
        return await tracer.within({ kind: 'verdict', name: measure, facts }, () => verify(patch));
      } catch (error) {
        // By its code: it may have happened in another process.
        const reason = error instanceof BestkError ? ABSTAINED_FOR[error.code] : undefined;
        if (reason === undefined) throw error;
        return abstained([patch], measure, reason, (error as Error).message);
      }
    }),
  );
  return verdicts.flat();
}

type Measured = Omit<Cell, 'instance_id' | 'candidate_id' | 'same_as'>;

/** One result as cells: of base, or of every candidate whose patch this is. */
export function cellsOf(context: ExecutionContext, patch: DistinctPatch | null, measured: Measured): readonly Cell[] {
  const { instance_id } = context.issue;
  if (patch === null) return [{ instance_id, candidate_id: null, same_as: null, ...measured }];
  return patch.candidateIds.map((candidate_id) => ({
    instance_id,
    candidate_id,
    same_as: candidate_id === patch.representative ? null : patch.representative,
    ...measured,
  }));
}

/** Where Python keeps compiled modules in a sandbox: scratch memory, the repository stays as it is. */
export const BYTECODE_FOLDER = '/tmp/.pycache';

/** Unpacked it counts against a sandbox's memory. */
const LARGEST_ARCHIVE = 64 * 1024 * 1024;

const UNPACK_DEADLINE_S = 60;

const UNPACK = 'mkdir -p "$2" && tar -xf "$1" -C "$2" && { [ -z "$3" ] || chown -R "$3" "$2"; }; rm -f "$1"';

/**
 * Compiled modules, carried from one sandbox into the next: compiling anew is most of what a short test on a large package
 * costs. Python checks each against its source's time and size, so a patched file is compiled again. Only a sandbox that
 * ran nothing but the image's own code may give its bytecode away.
 */
export class Bytecode {
  private archive: Uint8Array | null = null;

  constructor(private readonly nonce: () => string) {}

  /** Takes what a session that ran only the image's own code has compiled; nothing, where there is no `tar`. */
  async takeFrom(session: SandboxSession, signal: AbortSignal): Promise<void> {
    const path = `${scratchDirectory(this.nonce)}.tar`;
    const { kind } = await session.exec(shell('tar -cf "$1" -C "$2" .', path), signal);
    if (kind !== 'exited') return;
    const archive = await session.readFile(path, LARGEST_ARCHIVE + 1, signal);
    if (archive !== null && archive.length <= LARGEST_ARCHIVE) this.archive = archive;
  }

  /**
   * Gives a fresh session what was taken before, if anything.
   * @param owner who adds to it; null = whoever runs commands there
   * @returns false when the session did not survive it; the archive is given up, and a further session goes without
   */
  async giveTo(session: SandboxSession, owner: Ids | null, signal: AbortSignal): Promise<boolean> {
    if (this.archive === null) return true;
    const path = `${scratchDirectory(this.nonce)}.tar`;
    await session.writeFiles([{ path, content: this.archive }], signal);
    const { kind } = await session.exec(shell(UNPACK, path, owner === null ? '' : `${owner.uid}:${owner.gid}`), signal);
    if (kind !== 'exited') this.archive = null;
    return kind === 'exited';
  }
}

function shell(script: string, path: string, owner = ''): ExecRequest {
  return { argv: ['sh', '-c', script, 'sh', path, BYTECODE_FOLDER, owner], deadlineS: UNPACK_DEADLINE_S };
}

/**
 * A directory with a neutral, random name outside the repository, so that no patch can put a file in its place, and where an
 * image's own user may write too.
 */
export function scratchDirectory(nonce: () => string): string {
  return `/var/tmp/${nonce().slice(0, 16)}`;
}
