import { type Run, type RunEvent } from '../ports/run-store.js';

/** Journals one thing that happened. @throws InterruptedError once the run is to stop */
export type Emit = (type: string, data: RunEvent['data']) => Promise<void>;

/** Does the work of a run. Doing it again after an interruption is cheap, because what was finished is stored. */
export abstract class RunExecutor {
  /** Names the settings that what runs come to depends on; processes with the same can do each other's. */
  setup(): Promise<string> {
    return Promise.resolve('');
  }

  /** Refuses, before it is accepted, what could never be done. @throws BadInputError */
  check?(request: Run['request']): void;

  /**
   * @returns what the finished run answers
   * @throws BestkError with what the user can do; anything else is a defect
   */
  abstract execute(run: Run, emit: Emit, signal: AbortSignal): Promise<Run['result']>;
}
