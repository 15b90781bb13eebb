import { type Execution, RunExecutor } from '../../src/runs/run-dependencies.js';
import type { Run } from '../../src/ports/run-store.js';

export type RunScript = (...given: Execution) => Promise<Run['result']>;

/** Plays one script for each execution, in order; the last one again and again. Notes whom it worked on, and when. */
export class ScriptedExecutor extends RunExecutor {
  readonly started: string[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  private readonly scripts: RunScript[];

  constructor(...scripts: RunScript[]) {
    super();
    this.scripts = scripts;
  }

  override async execute(...given: Execution): Promise<Run['result']> {
    const script = this.scripts.length > 1 ? this.scripts.shift() : this.scripts[0];
    if (script === undefined) throw new Error('The executor has no script.');
    this.started.push(given[0].id);
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    try {
      return await script(...given);
    } finally {
      this.atOnce -= 1;
    }
  }
}

/** Works until it is told to stop, and then stops at once. */
export const untilStopped: RunScript = async (_run, emit, signal) => {
  await emit('working', {});
  return new Promise((_resolve, reject) => {
    const stop = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
  });
};
