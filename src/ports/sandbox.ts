import type { Environment } from '../core/run/issue.js';
import { type Level, MachineLowError, type Resource } from '../core/errors/unavailable.js';

/** Limits of one sandbox; the adapter enforces all of them. */
export interface SandboxLimits {
  readonly cpus: number;
  readonly memoryMb: number;
  readonly diskMb: number;
  readonly pids: number;
  /** Bytes kept of stdout and of stderr each; the rest is counted and dropped. */
  readonly outputBytes: number;
}

export interface SandboxSpec {
  readonly image: string;
  /** Absolute path of the repository in the image. */
  readonly workdir: string;
  /** Checked out before history is stripped; null = the image's HEAD. */
  readonly baseCommit: string | null;
  /** Applied to the base commit before history is stripped; absent = nothing. */
  readonly setupPatch?: string;
  /** Removed before anything runs; relative paths start at the repository's root. */
  readonly hiddenPaths?: readonly string[];
  /** Shown in the container's labels, for people who inspect the engine. */
  readonly purpose: string;
  /**
   * When the session takes up room: `session` (the default) from opening to closing, for work that computes all the
   * time; `command` while a command runs, for an agent that mostly waits for its model.
   */
  readonly occupies?: 'session' | 'command';
  /** Whether commands may also run as the tests' user; see `SandboxSession.testsUser`. */
  readonly separatesUsers?: boolean;
  /**
   * Seconds that a command, or one test of a batch, may take; the container lives longer than that. Absent = the
   * adapter's lifetime will do. A batch that outlives its container goes on in another one.
   */
  readonly longestS?: number;
}

/** Numeric user and group ids inside a sandbox. */
export interface Ids {
  readonly uid: number;
  readonly gid: number;
}

/** The sandbox for an issue's environment. @param image its id if results are stored under it, since a tag may move */
export function sandboxSpec(environment: Environment, purpose: string, image = environment.image): SandboxSpec {
  const { workdir, base_commit: baseCommit, setup_patch: setupPatch, hidden_paths: hiddenPaths } = environment;
  const setup = setupPatch === null ? {} : { setupPatch };
  return { image, workdir, baseCommit, purpose, ...setup, ...(hiddenPaths.length === 0 ? {} : { hiddenPaths }) };
}

/** The members of an environment that, besides the image, determine a sandbox's content; part of every result's key. */
export function sandboxContent(environment: Environment): Pick<Environment, 'workdir' | 'base_commit'> {
  const { workdir, base_commit, setup_patch, hidden_paths } = environment;
  // Omitted when empty, so that keys from before these members existed stay valid.
  const setup = {
    ...(setup_patch === null ? {} : { setup_patch }),
    ...(hidden_paths.length === 0 ? {} : { hidden_paths }),
  };
  return { workdir, base_commit, ...setup };
}

export interface SandboxFile {
  /** Absolute path; parent directories are created. */
  readonly path: string;
  readonly content: string | Uint8Array;
  /** Unix mode bits, e.g. 0o644. */
  readonly mode?: number;
}

/** A shell's exit code when SIGXCPU ended the command. */
export const OUT_OF_CPU = 152;
/** Ratio of a test's wall-clock limit to its CPU limit; CPU time makes outcomes independent of the machine's load. */
export const WALL = 4;

export interface ExecRequest {
  /** Program and arguments; never interpreted by a shell. */
  readonly argv: readonly string[];
  /** Defaults to the session's workdir. */
  readonly cwd?: string;
  /**
   * `image` is the image's own user; `root` and `tests` exist only in sessions with a `testsUser`. Default: `image`.
   */
  readonly as?: 'image' | 'root' | 'tests';
  /**
   * `image`: the image's own variables, for tests and agents. Default: none of them but HOME, and a PATH of folders in
   * which neither patches nor tests can write, for bestk's commands: they may run as root on a patched repository.
   */
  readonly environment?: 'image';
  /** Added to the environment; nothing is inherited from the host. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Receives stdout as it arrives, before truncation, in chunks of any size; must not throw. */
  readonly onStdout?: (piece: Uint8Array) => void;
  readonly deadlineS: number;
  /**
   * CPU seconds allowed to each of its processes, so that a busy machine changes no outcome: a process that exceeds
   * them is ended by SIGXCPU (a shell exits with 152). A command that reaches its deadline, which should then be
   * generous, only for lack of CPU throws SandboxLostError. Absent = no limit.
   */
  readonly cpuS?: number;
  /** Longest silence on stdout, by the host's clock; exceeding it counts as the deadline. Absent = no limit. */
  readonly silenceS?: number;
  /**
   * Keep the session after a time-out if the command could be killed inside; processes that left its process group may
   * still run. Only for sessions whose later output proves nothing.
   */
  readonly survivesTimeout?: boolean;
}

interface Output {
  readonly stdout: string;
  readonly stderr: string;
  /** True when either stream exceeded `outputBytes`; its end is missing. */
  readonly truncated: boolean;
  readonly durationMs: number;
}

/**
 * How a command ended. A non-zero exit, a deadline and a quota are results about the command; a dead engine is not a
 * result and is thrown. After any kind but `exited` the session is closed: open a fresh one. A time-out with
 * `survivesTimeout` closes it only if the command could not be killed.
 */
export type ExecOutcome =
  | (Output & {
      readonly kind: 'exited';
      /** Not 0 if the command never started. */
      readonly exitCode: number;
      /** An earlier command used up all processes or memory, or broke the shell: nothing can run here any more. */
      readonly neverStarted?: true;
    })
  | (Output & {
      readonly kind: 'timed-out';
      /** Whether the session continues, see `survivesTimeout`. */
      readonly survived: boolean;
    })
  | (Output & { readonly kind: 'out-of-memory' })
  | (Output & { readonly kind: 'out-of-disk' });

/** One container. Closing it removes the container with all its processes; closing twice is harmless. */
export interface SandboxSession extends AsyncDisposable {
  /** Id of the single commit that holds the base; code in the container may move refs, but not change this id. */
  readonly baseCommit: string;
  /**
   * The user for patches and tests, if users are separated: it has no access to root's files, processes and pipes, and
   * only read access to the disk. Null if the session did not request it, or the engine does not support it.
   */
  readonly testsUser: Ids | null;
  /** @throws SandboxLostError, EngineUnavailableError; also when the exit code is unknown. */
  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome>;
  /**
   * The files belong to root if users are separated, else to the image's user. @throws SandboxLostError,
   * EngineUnavailableError, EngineDiskFullError
   */
  writeFiles(files: readonly SandboxFile[], signal: AbortSignal): Promise<void>;
  /** First `maxBytes` of a regular file; null if it cannot be read, or is a symlink or directory. */
  readFile(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

export interface ImageDescription {
  /** Content id of the image, e.g. `sha256:…`; part of every cache key. */
  readonly id: string;
}

/** Containers in bestk's own types. The adapter owns concurrency: callers open as many as they like and wait. */
export abstract class Sandbox {
  /** Limits that the adapter enforces; part of every cache key. */
  abstract readonly limits: SandboxLimits;
  /**
   * Pulls the image if configured. @throws ImageMissingError, ImagePullError, EngineUnavailableError, MachineLowError
   */
  abstract describeImage(image: string, signal: AbortSignal): Promise<ImageDescription>;
  /**
   * A fresh container with the repository at its base as one orphan commit: no other history, remotes, tags, reflog.
   * @throws ImageMissingError, EngineUnavailableError, EngineDiskFullError, MachineLowError, SandboxLostError,
   * BadInputError (workdir or base commit not in the image)
   */
  abstract open(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxSession>;
  /** Removes expired and orphaned containers of this program only. @returns how many */
  abstract sweep(): Promise<number>;
  /** Engine name and version for `doctor`. @throws EngineUnavailableError */
  abstract engineVersion(): Promise<string>;
  /** Security concerns about sandboxes of this image on this engine, as whole sentences. */
  abstract concerns(image: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Does work that needs an image, which is protected from clean-up meanwhile. @throws what `work` throws */
  keeping<T>(_image: string, work: () => Promise<T>): Promise<T> {
    return work();
  }
  /** Removes every container that this process has open. */
  abstract closeAll(): Promise<void>;
}

/** Resources that work in this process needs; uploads are checked separately. */
const FOR_WORK: readonly Resource[] = ['engine', 'memory', 'store'];

/** The machine's remaining resources. */
export abstract class HostResources {
  /** Levels visible from this process; others are omitted. Never throws. */
  abstract levels(): Promise<readonly Level[]>;

  /** The first resource below its floor; null when there is enough of all. */
  async shortage(resources: readonly Resource[] = FOR_WORK): Promise<MachineLowError | null> {
    const levels = await this.levels();
    const low = levels.find((level) => resources.includes(level.resource) && isLow(level));
    return low === undefined ? null : new MachineLowError(low);
  }
}

class Boundless extends HostResources {
  override levels(): Promise<readonly Level[]> {
    return Promise.resolve([]);
  }
}
/** For processes that do not check resources. */
export const BOUNDLESS: HostResources = new Boundless();

/** Whether a level is below its floor. */
export function isLow({ freeBytes, floorBytes }: Level): boolean {
  return freeBytes < floorBytes;
}
