import { scratchDirectory, type ExecutionContext, type Tree, contextKey } from '../execution-context.js';
import { z } from 'zod';
import { retried } from '../../../src/core/async/retries.js';
import { DoesNotApplyError, UnavailableError } from '../../../src/core/errors/errors.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { GIT_APPLY } from '../../../src/core/patch/patch.js';
import { type SandboxSession, sandboxSpec, type ExecRequest, WALL } from '../../../src/ports/sandbox.js';
import { contentKey } from '../../../src/core/identifier.js';
import { END_ALL } from '../drivers/command.js';

export interface SessionPlan {
  readonly tree: Tree;
  /** The user that tests run as. */
  readonly user: RunsAs;
  /** Paths that tests write to on base. */
  readonly writes: readonly string[];
}

/** At most one open session on a patched tree, opened on first use and replaced once it is spoilt. */
export class TreeSessions implements AsyncDisposable {
  private session: SandboxSession | null = null;

  constructor(
    private readonly context: ExecutionContext,
    private readonly plan: SessionPlan,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Does some work in the session, repeated in a fresh container after an infrastructure failure, up to `tries` times
   * in all.
   * @throws UnavailableError when the infrastructure kept failing
   */
  async use<R>(work: (session: SandboxSession) => Promise<R>): Promise<R> {
    const { tries, pause } = this.context;
    const once = async (): Promise<R> => {
      try {
        return await work(await this.current());
      } catch (error) {
        await this.discard();
        throw error;
      }
    };
    return retried(once, { signal: this.signal, tries, pause });
  }

  /** Stores the session's compiled modules for later sessions; if that fails, they only start slower. */
  async giveBytecode(): Promise<void> {
    if (this.session === null) return;
    try {
      await this.context.bytecode.takeFrom(this.session, this.signal);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    }
  }

  /** Closes the session; the next use opens a fresh container. */
  async discard(): Promise<void> {
    const session = this.session;
    this.session = null;
    await session?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  private async current(): Promise<SandboxSession> {
    if (this.session !== null) return this.session;
    const { tree, user, writes } = this.plan;
    const { environment, instance_id } = this.context.issue;
    const spec = sandboxSpec(environment, `verify ${instance_id}`, this.context.imageId);
    const more = { separatesUsers: user === 'tests', longestS: WALL * environment.test_timeout_s };
    this.session = await this.context.sandbox.open({ ...spec, ...more }, this.signal);
    await applyPatch(this.session, tree, this.signal);
    await openPaths(this.session, writes, this.context.nonce, this.signal);
    if (await this.context.bytecode.giveTo(this.session, this.session.testsUser, this.signal)) return this.session;
    await this.discard();
    return this.current();
  }
}

const APPLY_DEADLINE_S = 120;

/**
 * Applies a source patch to the tree. `git apply --check` before neither wrote nor looked for obstacles, so this can
 * still fail.
 * @throws DoesNotApplyError if git refuses it or exceeds a sandbox limit, SandboxLostError on a time-out or without a
 * message
 */
export async function applyPatch(session: SandboxSession, tree: Tree, signal: AbortSignal): Promise<void> {
  if (tree === null) return;
  const ended = await session.exec({ argv: [...GIT_APPLY, '-'], stdin: tree, deadlineS: APPLY_DEADLINE_S }, signal);
  const said = ended.stderr.slice(0, 500);
  if (ended.kind === 'exited') {
    if (ended.exitCode === 0) return;
    if (said !== '' && ended.neverStarted !== true) throw new DoesNotApplyError(said);
  } else if (ended.kind !== 'timed-out') throw new DoesNotApplyError(`git ended as ${ended.kind}`);
  throw new SandboxLostError(`a patch that applies at base did not (${ended.kind}): ${said}`);
}

/*
 * Patches and tests run as a separate user, who can read the repository and write only to memory file systems. If tests
 * have to write elsewhere, the first run on base, without any patch, shows where: those paths are opened for every
 * candidate. A suite that passes only under the image's own user runs as that user, and its results are marked
 * accordingly.
 */

/** `image`: the image's own user, who has full access to the sandbox and can read and forge results. */
export type RunsAs = 'tests' | 'image';

/** The user that the existing tests run as, as determined by earlier runs on base. */
export async function runsAs(context: ExecutionContext): Promise<RunsAs> {
  return (await context.results.get(userKey(context))) === 'image' ? 'image' : 'tests';
}

/** Makes the existing tests run as the image's own user from now on. */
export async function runAsImageUser(context: ExecutionContext): Promise<void> {
  await context.results.put(userKey(context), 'user', 'image');
}

function userKey(context: ExecutionContext): string {
  const { regression_command, regression_files } = context.issue.environment;
  return contentKey({ kind: 'user', protocol: 2, ...contextKey(context), regression_command, regression_files });
}

/** The exec options for a command that runs tests. */
export function asTests({ testsUser }: SandboxSession): Pick<ExecRequest, 'as'> {
  return testsUser === null ? {} : { as: 'tests' };
}

const END_DEADLINE_S = 60;

/**
 * Kills processes that the tests' user left running.
 * @returns false if some remain, or if they leave no process for this: new ones are started faster than they are killed
 * @throws SandboxLostError on a time-out
 */
export async function endTests(session: SandboxSession, signal: AbortSignal): Promise<boolean> {
  const { testsUser } = session;
  if (testsUser === null) return true;
  const argv = ['sh', '-c', END_ALL, 'sh', String(testsUser.uid)];
  const done = await session.exec({ argv, as: 'root', deadlineS: END_DEADLINE_S }, signal);
  if (done.kind === 'timed-out') throw new SandboxLostError('processes that a test left running did not end in time');
  return done.kind === 'exited' && done.exitCode === 0;
}

/** Paths that a run on base wrote to. */
export const Written = z.array(z.string());
const MOST_PATHS = 5_000;
const LARGEST_LIST = 1024 * 1024;
const FIND_DEADLINE_S = 120;

const MARK = 'mkdir -p "${1%/*}" && : >"$1"';
const MARK_AND_OPEN = `find "$2" "$HOME" -xdev -name .git -prune -o -type d -exec chmod o+rwxt {} + 2>/dev/null; ${MARK}`;
const SINCE =
  'find "$2" "$HOME" -xdev -name .git -prune -o -newer "$1" -print 2>/dev/null | head -c 1000000 >"$1.list"';
/** Sets the sticky bit, so that a user who may write to a folder cannot remove other users' files from it. */
const OPEN = String.raw`
dirs=$1.dirs files=$1.files
while IFS= read -r path; do
  if [ -h "$path" ]; then :
  elif [ -d "$path" ]; then printf '%s\0' "$path" >&3
  elif [ -f "$path" ]; then printf '%s\0' "$path" >&4
  fi
done 3>"$dirs" 4>"$files"
xargs -0 -r chmod o+rwxt <"$dirs"
xargs -0 -r chown -h "$2" <"$files"`;

/** Finds out where a run on base writes, in the repository and in the image's home. */
export class WritesOnBase {
  readonly #marker: string;

  constructor(private readonly context: ExecutionContext) {
    this.#marker = scratchDirectory(context.nonce);
  }

  /** Starts watching. @param open whether the tests' user may write everywhere in the meantime */
  async begin(session: SandboxSession, signal: AbortSignal, open = false): Promise<void> {
    await this.#run(session, open ? MARK_AND_OPEN : MARK, signal);
  }

  /** @returns absolute paths; none if the session is lost or has no `find` */
  async end(session: SandboxSession, signal: AbortSignal): Promise<readonly string[]> {
    let list: Uint8Array | null;
    try {
      await this.#run(session, SINCE, signal);
      list = await session.readFile(`${this.#marker}.list`, LARGEST_LIST, signal);
    } catch (error) {
      if (error instanceof SandboxLostError) return [];
      throw error;
    }
    const lines = list === null ? [] : new TextDecoder().decode(list).split('\n');
    // The last line is empty or cut off.
    return lines
      .slice(0, -1)
      .filter((path) => path.startsWith('/'))
      .slice(0, MOST_PATHS);
  }

  async #run(session: SandboxSession, script: string, signal: AbortSignal): Promise<void> {
    const { workdir } = this.context.issue.environment;
    await session.exec({ argv: ['sh', '-c', script, 'sh', this.#marker, workdir], deadlineS: FIND_DEADLINE_S }, signal);
  }
}

/** Opens these paths to the tests' user. Missing ones are skipped: they can be created if their parent is writable. */
export async function openPaths(
  session: SandboxSession,
  paths: readonly string[],
  nonce: () => string,
  signal: AbortSignal,
): Promise<void> {
  if (paths.length === 0 || session.testsUser === null) return;
  const { uid, gid } = session.testsUser;
  const argv = ['sh', '-c', OPEN, 'sh', scratchDirectory(nonce), `${uid}:${gid}`];
  const stdin = paths.map((path) => `${path}\n`).join('');
  await session.exec({ argv, stdin, as: 'root', deadlineS: FIND_DEADLINE_S }, signal);
}
