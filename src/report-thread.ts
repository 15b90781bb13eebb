import { parentPort, workerData } from 'node:worker_threads';
import { openStore } from './adapters/open-store.js';
import type { StorePlace } from './adapters/store.js';
import { StoredRunReports } from './commands/stored-run-reports.js';
import type { ReportAnswer, ReportJob } from './commands/threaded-reports.js';
import { BestkError } from './core/errors.js';
import { RunNotFoundError } from './core/run-errors.js';
import type { Run } from './ports/run-store.js';

// A thread of the service: makes one report, with connections of its own, and says what came of it.
const { place, lines, wish } = workerData as ReportJob & { readonly place: StorePlace };
parentPort?.postMessage(await answer());

async function answer(): Promise<ReportAnswer> {
  try {
    const store = await openStore(place);
    const get = async (id: string): Promise<Run> => {
      const run = await store.runs.get(id);
      if (run === null) throw RunNotFoundError.forRun(id);
      return run;
    };
    const reports = new StoredRunReports({ get }, store.reports);
    return { made: await reports.makeOf(lines, wish).finally(() => store.close()) };
  } catch (error) {
    if (!(error instanceof BestkError)) throw error;
    const { code, exitCode, message, next } = error;
    return { failure: { code, exitCode, message, next } };
  }
}
