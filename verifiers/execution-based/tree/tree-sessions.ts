import { retried } from '../../../src/core/async/time.js';
import { UnavailableError } from '../../../src/core/errors/errors.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { GIT_APPLY } from '../../../src/core/patch/patch.js';
import { type SandboxSession, sandboxSpec } from '../../../src/ports/sandbox.js';
import type { ExecutionContext, Tree } from '../execution-context.js';
import { openPaths, type RunsAs } from './tests-user.js';

export interface SessionPlan {
  readonly tree: Tree;
  /** Who tests run as. */
  readonly user: RunsAs;
  /** Where tests write on base. */
  readonly writes: readonly string[];
}

/** At most one open session on a patched tree, opened when first needed and replaced when it was spoilt. */
export class TreeSessions implements AsyncDisposable {
  private session: SandboxSession | null = null;

  constructor(
    private readonly context: ExecutionContext,
    private readonly plan: SessionPlan,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Does some work in the session. Infrastructure failures repeat it in a fresh container, at most three times.
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

  /** Lets what comes after start from what the session has compiled; without it, it only starts slower. */
  async giveBytecode(): Promise<void> {
    if (this.session === null) return;
    try {
      await this.context.bytecode.takeFrom(this.session, this.signal);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    }
  }

  /** What comes next gets a fresh container. */
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
    this.session = await this.context.sandbox.open({ ...spec, separatesUsers: user === 'tests' }, this.signal);
    await applyPatch(this.session, tree, this.signal);
    await openPaths(this.session, writes, this.context.nonce, this.signal);
    if (await this.context.bytecode.giveTo(this.session, this.session.testsUser, this.signal)) return this.session;
    await this.discard();
    return this.current();
  }
}

const DEADLINE_S = 120;

/** Puts a source patch, known to apply, on the session's tree. @throws SandboxLostError when it no longer does */
export async function applyPatch(session: SandboxSession, tree: Tree, signal: AbortSignal): Promise<void> {
  if (tree === null) return;
  const ended = await session.exec({ argv: [...GIT_APPLY, '-'], stdin: tree, deadlineS: DEADLINE_S }, signal);
  if (ended.kind !== 'exited' || ended.exitCode !== 0) {
    throw new SandboxLostError(`a patch that applies at base did not (${ended.kind}): ${ended.stderr.slice(0, 500)}`);
  }
}
