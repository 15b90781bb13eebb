import {
  type ExecRequest,
  type Ids,
  type SandboxSession,
  type Sandbox,
  sandboxContent,
} from '../../src/ports/sandbox.js';
import type { RemoteExecutor, CellJob, GeneratedTest, Cell } from '../../src/core/run/generated-test.js';
import type { RecordReader } from './existing/run-record.js';
import type { Issue } from '../../src/core/run/issue.js';
import type { ResultStore } from '../../src/ports/result-store.js';
import { type Tracer, UNTRACED } from '../../src/ports/telemetry.js';
import { BestkError, DoesNotApplyError } from '../../src/core/errors/errors.js';
import { SANDBOX_LOST, SandboxStarvedError } from '../../src/core/errors/unavailable.js';
import type { MeasureName, AbstainReason, Verdict } from '../../src/core/run/verdict.js';

/** Default time budget for the existing tests of one patch, in seconds. */
export const REGRESSION_S = 120;

/** Shared by all executions for one instance. */
export interface ExecutionContext {
  readonly sandbox: Sandbox;
  readonly results: ResultStore;
  readonly issue: Issue;
  /** Content id of the image, so that a rebuilt image invalidates stored results. */
  readonly imageId: string;
  readonly bytecode: Bytecode;
  /** Unguessable text of 48 lower-case letters and digits, new at every call. */
  readonly nonce: () => string;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Records a span per verdict and per suite; absent = none. */
  readonly tracer?: Tracer;
  /** Attempts in total, each in a fresh container, when the infrastructure fails; absent = three. */
  readonly tries?: number | undefined;
  /** Reads the records of regression runs, e.g. in another thread; absent = they are read in the calling thread. */
  readonly read?: RecordReader | undefined;
  /** Time budget for the existing tests of one patch, in seconds on base, when bestk chooses them. */
  readonly regressionS: number;
  /** Asked to execute a job before it is executed here; absent = all run here. */
  readonly remote?: RemoteExecutor | undefined;
}

/** Runs a suite on a tree within its own span. */
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

/** A tree, and the index among equal runs on it: base is run twice (0 and 1), a candidate once (0). */
export interface TreeRun {
  readonly tree: Tree;
  readonly repeat: number;
  /** Of the regression files, only these; absent = all. */
  readonly files?: readonly string[] | undefined;
  /** Locations of tests, for the control; absent = where the regression command's files or tests are. */
  readonly control?: readonly string[] | undefined;
}

/** Candidates with equal normalised source patches: verified once, under the first one's id. */
export interface DistinctPatch {
  readonly representative: string;
  readonly candidateIds: readonly string[];
  /** The source hunks, which are applied for verification; changes to tests and runner configuration are dropped. */
  readonly source: string;
}

/** Increment when the way tests and patches are run, or outcomes are read, changes: stored results become stale. */
const PROTOCOL = 7;

/** Everything in the context that an outcome can depend on; part of each result's key. */
export function contextKey({ imageId, issue, sandbox }: ExecutionContext): Record<string, unknown> {
  const { environment } = issue;
  const { test_timeout_s } = environment;
  return { protocol: PROTOCOL, image: imageId, ...sandboxContent(environment), test_timeout_s, limits: sandbox.limits };
}

/** A serialisable job for one tree, for other processes; `tests` null = the regression command. */
export function cellJob(
  { issue }: Pick<ExecutionContext, 'issue'>,
  place: TreeRun,
  tests: readonly GeneratedTest[] | null,
): CellJob {
  const { instance_id, environment } = issue;
  return { instance_id, environment, ...place, tests };
}

/** Generator of random integers in 0 ≤ n < `below`, from the nonce's unguessable characters. */
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

function abstainedFor(code: string): AbstainReason | null {
  if (SANDBOX_LOST.has(code)) return 'infrastructure';
  return code === DoesNotApplyError.code ? 'does-not-apply' : null;
}

/**
 * Verifies all patches concurrently. A patch abstains if git cannot apply it or its sandbox kept being lost. A dead
 * engine, a missing image or a full disk affects all patches and ends the run.
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
        // By code, not class: the error may come from another process.
        const code = error instanceof BestkError ? error.code : '';
        const reason = abstainedFor(code);
        if (reason === null) throw error;
        const evidence = code === SandboxStarvedError.code ? { starved: true } : {};
        return abstained([patch], measure, reason, (error as Error).message).map((each) => ({ ...each, evidence }));
      }
    }),
  );
  return verdicts.flat();
}

type Measured = Omit<Cell, 'instance_id' | 'candidate_id' | 'same_as'>;

/** One result as cells: one for base, or one for every candidate with this patch. */
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

/** Where Python keeps compiled modules in a sandbox: in scratch memory, so that the repository stays unchanged. */
export const BYTECODE_FOLDER = '/tmp/.pycache';

/** Bytes; unpacked, the archive counts against the sandbox's memory. */
const LARGEST_ARCHIVE = 64 * 1024 * 1024;

const UNPACK_DEADLINE_S = 60;

const UNPACK = 'mkdir -p "$2" && tar -xf "$1" -C "$2" && { [ -z "$3" ] || chown -R "$3" "$2"; }; rm -f "$1"';

/**
 * Compiled modules, carried from one sandbox to the next, since compiling is most of the cost of a short test on a
 * large package. Python checks each module against its source's time and size, so a patched file is compiled again.
 * Only a sandbox that has run nothing but the image's own code may provide bytecode.
 */
export class Bytecode {
  private archive: Uint8Array | null = null;

  constructor(private readonly nonce: () => string) {}

  /** Stores what a session that ran only the image's own code has compiled; does nothing if the image has no `tar`. */
  async takeFrom(session: SandboxSession, signal: AbortSignal): Promise<void> {
    const path = `${scratchDirectory(this.nonce)}.tar`;
    const { kind } = await session.exec(shell('tar -cf "$1" -C "$2" .', path), signal);
    if (kind !== 'exited') return;
    const archive = await session.readFile(path, LARGEST_ARCHIVE + 1, signal);
    if (archive !== null && archive.length <= LARGEST_ARCHIVE) this.archive = archive;
  }

  /**
   * Unpacks the stored archive, if any, in a fresh session.
   * @param owner owner of the files, who may add more; null = the user that runs commands there
   * @returns false if the session did not survive; the archive is then dropped, and later sessions start without it
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
 * A directory with a neutral, random name outside the repository: no patch can put a file in its place, and the image's
 * own user can write there.
 */
export function scratchDirectory(nonce: () => string): string {
  return `/var/tmp/${nonce().slice(0, 16)}`;
}
