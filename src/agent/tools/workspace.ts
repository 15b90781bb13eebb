import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import { GIT_APPLY } from '../../core/patch/patch.js';
import { findApplicableForm } from '../../ports/applicable-form.js';
import type {
  ExecOutcome,
  ExecRequest,
  Sandbox,
  SandboxFile,
  SandboxSession,
  SandboxSpec,
} from '../../ports/sandbox.js';

/** bestk's own commands are short: one that takes longer means a broken container, not a busy one. */
const OWN_DEADLINE_S = 60;

/** No command can start in the container any more: an earlier one filled it with processes, or broke its shell. */
export class ContainerStuckError extends Error {
  constructor() {
    super('no command starts in the container any more');
  }
}

/** Git could not apply the patch to inspect. */
export class PatchRefusedError extends Error {}

export interface WorkspaceOptions {
  readonly spec: SandboxSpec;
  /** Seconds per command. */
  readonly actionS: number;
  /** Applied to base, uncommitted, before anything runs; absent = base itself. */
  readonly patch?: string | undefined;
  /** Whether to show files and outputs as R2E-Gym's tools do, for models trained on these; absent = no. */
  readonly asR2e?: boolean;
}

/** The agent's container. The output of its commands is never evidence: patches are verified elsewhere, in fresh containers. */
export class Workspace implements AsyncDisposable {
  readonly workdir: string;
  readonly actionS: number;
  readonly asR2e: boolean;
  /** Contents before each change by the file editor, newest last, by path; null = the file did not exist. */
  readonly undo = new Map<string, (Uint8Array | null)[]>();
  private constructor(
    private readonly session: SandboxSession,
    { spec, actionS, asR2e = false }: WorkspaceOptions,
  ) {
    this.workdir = spec.workdir;
    this.actionS = actionS;
    this.asR2e = asR2e;
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
    if ((await this.gitRefusal(patch, signal)) === null) return;
    const { form, detail } = await findApplicableForm(this.session, { text: patch, repairs: [] }, signal);
    const refusal = form === null ? detail : await this.gitRefusal(form.text, signal);
    if (refusal !== null) throw new PatchRefusedError(refusal.trim());
  }

  /** Applies a patch. @returns git's message if it does not apply, else null */
  private async gitRefusal(patch: string, signal: AbortSignal): Promise<string | null> {
    const ended = await this.run([...GIT_APPLY, '-'], { stdin: patch }, signal);
    if (ended.kind !== 'exited') throw new SandboxLostError(`git ended as ${ended.kind} when it applied a patch`);
    return ended.exitCode === 0 ? null : ended.stderr.slice(0, 1_000);
  }

  /** The commit that the patch is computed against. */
  get base(): string {
    return this.session.baseCommit;
  }

  /** A command of the agent; at its time limit it is stopped, and the container is kept if possible. */
  exec(argv: readonly string[], signal: AbortSignal, onStdout?: (piece: Uint8Array) => void): Promise<ExecOutcome> {
    const request = { argv, environment: 'image', deadlineS: this.actionS, survivesTimeout: true } as const;
    return this.started(this.session.exec(onStdout === undefined ? request : { ...request, onStdout }, signal));
  }

  /** A command of bestk in the agent's container. */
  run(
    argv: readonly string[],
    options: Pick<ExecRequest, 'stdin' | 'onStdout'> & { deadlineS?: number },
    signal: AbortSignal,
  ): Promise<ExecOutcome> {
    return this.started(this.session.exec({ argv, deadlineS: OWN_DEADLINE_S, ...options }, signal));
  }

  /** A long-running program, limited only by its own deadline; its files are kept. */
  program(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome> {
    return this.started(this.session.exec({ ...request, environment: 'image', survivesTimeout: true }, signal));
  }

  /** Writes bestk's own files, outside the repository. */
  write(files: readonly SandboxFile[], signal: AbortSignal): Promise<void> {
    return this.session.writeFiles(files, signal);
  }

  private async started(running: Promise<ExecOutcome>): Promise<ExecOutcome> {
    const outcome = await running;
    if (outcome.kind === 'exited' && outcome.neverStarted === true) throw new ContainerStuckError();
    return outcome;
  }

  /** First bytes of a regular file; null for anything else, an invalid path, and an unreadable file. */
  async read(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    try {
      return await this.session.readFile(path, maxBytes, signal);
    } catch (error) {
      // The path comes from the model: an invalid one is its mistake and must not end the run.
      if (error instanceof BadInputError) return null;
      throw error;
    }
  }

  /** Normalises a model's path: without `.` and double slashes; relative paths start at the working directory. */
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
