import { AsyncLocalStorage } from 'node:async_hooks';

const runs = new AsyncLocalStorage<string>();

/** Does `work`, and whatever it starts, in the name of a run. */
export function inRun<T>(runId: string, work: () => T): T {
  return runs.run(runId, work);
}

/** The run that this is called for; undefined outside of any. */
export function currentRun(): string | undefined {
  return runs.getStore();
}
