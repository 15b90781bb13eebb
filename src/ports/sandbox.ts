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
  /** Applied to that before history is stripped; absent = nothing. */
  readonly setupPatch?: string;
  /** Removed before anything runs; relative ones from the repository's root. */
  readonly hiddenPaths?: readonly string[];
  /** Shown in the container's labels, so that a person sees whose it is. */
  readonly purpose: string;
  /**
   * What the session needs room for: `session` (the default) from its opening to its end, for work that computes all
   * the time; `command` while a command runs, for an agent that mostly waits for its model.
   */
  readonly occupies?: 'session' | 'command';
  /** Whether commands may be run as the tests' user as well; see `SandboxSession.testsUser`. */
  readonly separatesUsers?: boolean;
}

/** A user and a group of a sandbox, by their numbers. */
export interface Ids {
  readonly uid: number;
  readonly gid: number;
}

/** A sandbox of an issue's environment. @param image by id where results are stored under it: a tag may move */
export function sandboxSpec(environment: Environment, purpose: string, image = environment.image): SandboxSpec {
  const { workdir, base_commit: baseCommit, setup_patch: setupPatch, hidden_paths: hiddenPaths } = environment;
  const setup = setupPatch === null ? {} : { setupPatch };
  return { image, workdir, baseCommit, purpose, ...setup, ...(hiddenPaths.length === 0 ? {} : { hiddenPaths }) };
}

/** What of an environment decides what a sandbox holds, beside its image; part of every result's key. */
export function sandboxContent(environment: Environment): Pick<Environment, 'workdir' | 'base_commit'> {
  const { workdir, base_commit, setup_patch, hidden_paths } = environment;
  // As keys were before there was a set-up.
  const setup = {
    ...(setup_patch === null ? {} : { setup_patch }),
    ...(hidden_paths.length === 0 ? {} : { hidden_paths }),
  };
  return { workdir, base_commit, ...setup };
}

export interface SandboxFile {
  /** Absolute path; parent directories are made. */
  readonly path: string;
  readonly content: string | Uint8Array;
  /** Unix mode bits, e.g. 0o644. */
  readonly mode?: number;
}

export interface ExecRequest {
  /** Program and arguments; never interpreted by a shell. */
  readonly argv: readonly string[];
  /** Defaults to the session's workdir. */
  readonly cwd?: string;
  /** `image` is the image's own user, `root` and `tests` are there in sessions with a `testsUser` alone. Default: `image`. */
  readonly as?: 'image' | 'root' | 'tests';
  /** Added to the image's own environment; nothing of the host's is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Sees stdout as it comes, before it is capped, in pieces of any size; must not throw. */
  readonly onStdout?: (piece: Uint8Array) => void;
  readonly deadlineS: number;
  /**
   * Seconds of the CPU that each of its processes may have, so that a busy machine changes no outcome: one that has had them is
   * ended by SIGXCPU (a shell exits with 152). A command that meets its deadline, which is then a generous one, for want of
   * the CPU alone throws SandboxLostError. Absent = any.
   */
  readonly cpuS?: number;
  /** Longest silence on stdout, by the host's clock; one that is longer counts as the deadline. Absent = any. */
  readonly silenceS?: number;
  /**
   * Keep the session after a time-out where the command could be killed inside; what left its process group may still
   * run. Only for sessions whose later output proves nothing.
   */
  readonly survivesTimeout?: boolean;
}

interface Output {
  readonly stdout: string;
  readonly stderr: string;
  /** True when either stream passed `outputBytes`; its end is missing. */
  readonly truncated: boolean;
  readonly durationMs: number;
}

/**
 * How a command ended. A non-zero exit, a deadline, and a quota are results about the command; a dead engine is not a
 * result and is thrown. After any kind but `exited` the session is closed: open a fresh one. A time-out that the request
 * wanted to survive closes it only when the command could not be killed.
 */
export type ExecOutcome =
  | (Output & {
      readonly kind: 'exited';
      /** Not 0 when the command never started. */
      readonly exitCode: number;
      /** An earlier command used up all processes or memory, or broke the shell: nothing runs in this container any more. */
      readonly neverStarted?: true;
    })
  | (Output & {
      readonly kind: 'timed-out';
      /** Whether the session goes on, see `survivesTimeout`. */
      readonly survived: boolean;
    })
  | (Output & { readonly kind: 'out-of-memory' })
  | (Output & { readonly kind: 'out-of-disk' });

/** One container. Closing it removes the container and everything that still runs in it; closing twice is harmless. */
export interface SandboxSession extends AsyncDisposable {
  /** Id of the one commit that holds the base; what runs in the container may move every ref, but not this id. */
  readonly baseCommit: string;
  /**
   * Who patches and tests run as, where users are kept apart: nobody whom root's files, processes and pipes are open to, and
   * without any right on the disk but to read. Null when the session was not asked for it, or its engine has no way to it.
   */
  readonly testsUser: Ids | null;
  /** @throws SandboxLostError, EngineUnavailableError; also when the exit code is unknown. */
  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome>;
  /** The files belong to root where users are kept apart, else to the image's user. @throws SandboxLostError, EngineUnavailableError, EngineDiskFullError */
  writeFiles(files: readonly SandboxFile[], signal: AbortSignal): Promise<void>;
  /** First `maxBytes` of a regular file, or null when none can be read (a symlink or directory counts as none). */
  readFile(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

export interface ImageDescription {
  /** Content id of the image, e.g. `sha256:…`; part of every cache key. */
  readonly id: string;
}

/** Containers in our own words. The adapter owns concurrency: callers open as many as they like and wait. */
export abstract class Sandbox {
  /** Limits the adapter enforces; part of every cache key. */
  abstract readonly limits: SandboxLimits;
  /** Fetches the image where that is asked for. @throws ImageMissingError, ImagePullError, EngineUnavailableError, MachineLowError */
  abstract describeImage(image: string, signal: AbortSignal): Promise<ImageDescription>;
  /**
   * A fresh container with the repository at its base as one orphan commit: no other history, remotes, tags, reflog.
   * @throws ImageMissingError, EngineUnavailableError, EngineDiskFullError, MachineLowError, SandboxLostError,
   * BadInputError (workdir or base commit not in the image)
   */
  abstract open(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxSession>;
  /** Removes expired and orphaned containers this program made, and only those; returns how many. */
  abstract sweep(): Promise<number>;
  /** Engine name and version for `doctor`. @throws EngineUnavailableError */
  abstract engineVersion(): Promise<string>;
  /** What makes sandboxes of this image on this engine less safe than they should be, in whole sentences. */
  abstract concerns(image: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Does work that needs an image, which is not removed to make room meanwhile. @throws what `work` throws */
  keeping<T>(_image: string, work: () => Promise<T>): Promise<T> {
    return work();
  }
  /** Removes every container this process still has open. */
  abstract closeAll(): Promise<void>;
}

/** What work in this process needs; uploads are asked about by themselves. */
const FOR_WORK: readonly Resource[] = ['engine', 'memory', 'store'];

/** How much of what it needs the machine has left. */
export abstract class HostResources {
  /** What can be seen from here; what cannot is not there. Never throws. */
  abstract levels(): Promise<readonly Level[]>;

  /** The first that is below its floor; null when there is room. */
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
/** Where nobody looks. */
export const BOUNDLESS: HostResources = new Boundless();

/** Below its floor. */
export function isLow({ freeBytes, floorBytes }: Level): boolean {
  return freeBytes < floorBytes;
}
