import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import { GIT_APPLY } from '../../core/patch/patch.js';
import type {
  ExecOutcome,
  ExecRequest,
  Sandbox,
  SandboxFile,
  SandboxSession,
  SandboxSpec,
} from '../../ports/sandbox.js';

/** After an exec of ours, which is short, the container is in trouble rather than busy. */
const OWN_DEADLINE_S = 60;

/** No command starts in the container any more: an earlier one filled it with processes, or broke its shell. */
export class ContainerStuckError extends Error {
  constructor() {
    super('no command starts in the container any more');
  }
}

/** Git did not apply the patch that the container was to show. */
export class PatchRefusedError extends Error {}

export interface WorkspaceOptions {
  readonly spec: SandboxSpec;
  /** Seconds of one command. */
  readonly actionS: number;
  /** Put on base, uncommitted, before anything runs; absent = base itself. */
  readonly patch?: string | undefined;
  /** Whether empty parts of an output are shown, too, as to models that were trained on them; absent = they are not. */
  readonly allParts?: boolean;
}

/**
 * The agent's container, opened at the first use. What its commands printed is not evidence of anything: patches are
 * verified elsewhere, in fresh containers.
 */
export class Workspace implements AsyncDisposable {
  readonly workdir: string;
  readonly actionS: number;
  readonly allParts: boolean;
  /** Contents before each change of the file editor, newest last, by path; null = there was no file. */
  readonly undo = new Map<string, (Uint8Array | null)[]>();
  private constructor(
    private readonly session: SandboxSession,
    { spec, actionS, allParts = false }: WorkspaceOptions,
  ) {
    this.workdir = spec.workdir;
    this.actionS = actionS;
    this.allParts = allParts;
  }

  /** @throws what Sandbox.open throws, and PatchRefusedError */
  static async open(sandbox: Sandbox, options: WorkspaceOptions, signal: AbortSignal): Promise<Workspace> {
    const workspace = new Workspace(await sandbox.open(options.spec, signal), options);
    try {
      if (options.patch !== undefined) await workspace.apply(options.patch, signal);
      return workspace;
    } catch (error) {
      await workspace.close();
      throw error;
    }
  }

  private async apply(patch: string, signal: AbortSignal): Promise<void> {
    const ended = await this.run([...GIT_APPLY, '-'], { stdin: patch }, signal);
    if (ended.kind !== 'exited') throw new SandboxLostError(`git ended as ${ended.kind} when it applied a patch`);
    if (ended.exitCode !== 0) throw new PatchRefusedError(ended.stderr.trim().slice(0, 1_000));
  }

  /** The commit that the patch is a difference to. */
  get base(): string {
    return this.session.baseCommit;
  }

  /** A command of the agent's; one that takes too long is stopped, and the container stays if that was possible. */
  exec(argv: readonly string[], signal: AbortSignal, onStdout?: (piece: Uint8Array) => void): Promise<ExecOutcome> {
    const request = { argv, deadlineS: this.actionS, survivesTimeout: true };
    return this.started(this.session.exec(onStdout === undefined ? request : { ...request, onStdout }, signal));
  }

  /** A command of ours in the agent's container. */
  run(
    argv: readonly string[],
    options: { stdin?: string | Uint8Array; onStdout?: (piece: Uint8Array) => void },
    signal: AbortSignal,
  ): Promise<ExecOutcome> {
    return this.started(this.session.exec({ argv, ...options, deadlineS: OWN_DEADLINE_S }, signal));
  }

  /** A program that runs for as long as it likes, within its deadline; also its files. */
  program(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome> {
    return this.started(this.session.exec({ ...request, survivesTimeout: true }, signal));
  }

  /** Files of ours, outside of the repository. */
  write(files: readonly SandboxFile[], signal: AbortSignal): Promise<void> {
    return this.session.writeFiles(files, signal);
  }

  private async started(running: Promise<ExecOutcome>): Promise<ExecOutcome> {
    const outcome = await running;
    if (outcome.kind === 'exited' && outcome.neverStarted === true) throw new ContainerStuckError();
    return outcome;
  }

  /** First bytes of a regular file; null for anything else, a path that cannot be one, and a file that may not be read. */
  async read(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    try {
      return await this.session.readFile(path, maxBytes, signal);
    } catch (error) {
      // The path is the model's: a wrong one is its mistake and no end of the run.
      if (error instanceof BadInputError) return null;
      throw error;
    }
  }

  /** A path of the model's, without `.` and double slashes; relative ones start at the working directory. */
  resolve(path: string): string {
    const parts = path.split('/').filter((part) => part !== '' && part !== '.');
    return `${path.startsWith('/') ? '' : this.workdir}/${parts.join('/')}`.replace(/(?<=.)\/$/, '');
  }

  async close(): Promise<void> {
    await this.session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
