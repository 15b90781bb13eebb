import { retryAfterMs } from '../../core/async/time.js';
import type { Sandbox } from '../../ports/sandbox.js';
import type { Action } from '../call-formats/action.js';
import { perform } from '../tools/perform.js';
import { ContainerStuckError, Workspace, type WorkspaceOptions } from '../tools/workspace.js';

/**
 * The container of one rollout, opened when it is first needed and rebuilt from the actions so far whenever it is gone:
 * after a restart of this process, after the engine lost it, after a command took it with it.
 */
export class ContainerOfRollout implements AsyncDisposable {
  private workspace: Workspace | null = null;
  /** The actions whose effects the container must show, in order. */
  private readonly done: Action[] = [];

  constructor(
    private readonly sandbox: Sandbox,
    private readonly options: WorkspaceOptions,
    private readonly tries?: number,
  ) {}

  /** Takes an action into account that was done, here or before a restart. */
  remember(action: Action): void {
    this.done.push(action);
  }

  /** Forgets the last `count` actions. */
  withdraw(count: number): void {
    this.done.splice(this.done.length - count, count);
  }

  /**
   * Works in the container; again in a fresh one when it is lost meanwhile. When no command starts in it any more, the
   * fresh one is without the last action: the one that did it.
   * @returns what `work` gave, and how many actions were given up for it
   * @throws EngineUnavailableError and other UnavailableErrors once they persist, and what `work` throws
   */
  async use<T>(
    work: (workspace: Workspace) => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ result: T; withdrawn: number }> {
    let withdrawn = 0;
    for (let attempt = 1; ;) {
      try {
        this.workspace ??= await this.rebuild(signal);
        return { result: await work(this.workspace), withdrawn };
      } catch (error) {
        await this.drop();
        signal.throwIfAborted();
        if (error instanceof ContainerStuckError && this.done.length > 0) {
          this.withdraw(1);
          withdrawn += 1;
        } else if (retryAfterMs(error, attempt++, this.tries) === null) throw error;
      }
    }
  }

  async drop(): Promise<void> {
    const { workspace } = this;
    this.workspace = null;
    await workspace?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drop();
  }

  private async rebuild(signal: AbortSignal): Promise<Workspace> {
    const workspace = await Workspace.open(this.sandbox, this.options, signal);
    try {
      for (const action of this.done) await perform(action, workspace, signal);
      return workspace;
    } catch (error) {
      await workspace.close();
      throw error;
    }
  }
}
