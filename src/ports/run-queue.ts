/** Delivers "work on run X" to whoever works. The truth about a run stays in the RunStore; this only wakes. */
export abstract class RunQueue {
  /** Names the worker, once, before the first `submit`. `work` never rejects, and is never at one run twice at a time. */
  abstract onRun(work: (runId: string) => Promise<void>): void;
  /**
   * Asks for one more delivery; asking again for a run that still waits changes nothing.
   * @param submitter whose run it is, `''` for nobody's in particular; those that wait are served in turn
   */
  abstract submit(runId: string, submitter: string): void;
  /** Delivers nothing more; resolves when the deliveries under way have ended. */
  abstract close(): Promise<void>;
}
