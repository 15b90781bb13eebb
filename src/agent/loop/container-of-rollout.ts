import { retryAfterMs } from '../../core/async/retries.js';
import type { Sandbox } from '../../ports/sandbox.js';
import type { Action } from '../tools/action.js';
import { perform } from '../tools/perform.js';
import { ContainerStuckError, Workspace, type WorkspaceOptions } from '../tools/workspace.js';

/**
 * The container of one rollout, opened on first use and rebuilt by repeating the actions so far when it is gone: after a
 * restart of this process, an engine failure, or a command that destroyed it.
 */
export class ContainerOfRollout implements AsyncDisposable {
  private workspace: Workspace | null = null;
  /** The actions whose effects the container must have, in order. */
  private readonly done: Action[] = [];

  constructor(
    private readonly sandbox: Sandbox,
    private readonly options: WorkspaceOptions,
    private readonly tries?: number,
  ) {}

  /** Adds an action that was done, here or before a restart. */
  remember(action: Action): void {
    this.done.push(action);
  }

  /** Forgets the last `count` actions. */
  withdraw(count: number): void {
    this.done.splice(this.done.length - count, count);
  }

  /** Forgets all actions, and gives up the container that has their effects. */
  async clear(): Promise<void> {
    this.done.length = 0;
    await this.drop();
  }

  /**
   * Works in the container, and again in a fresh one if it is lost. If no command can start in it any more, the fresh one omits
   * the last action, which caused that.
   * @returns the result of `work`, and how many actions were withdrawn
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
