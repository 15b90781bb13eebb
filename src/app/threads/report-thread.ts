import { parentPort, workerData } from 'node:worker_threads';
import { openStore } from '../../store/open-store.js';
import type { StorePlace } from '../../store/store.js';
import { answerOf } from '../../jobs/job-threads.js';
import { makeRunReport } from './stored-run-reports.js';
import { LARGEST_UPLOAD, type ReportJob, reportLines } from './threaded-reports.js';
import { readUpload } from './upload-folder.js';
import { RunNotFoundError } from '../../core/errors/errors.js';
import type { ReportMade } from '../../runs/run-intake.js';
import type { Run } from '../../ports/run-store.js';

// Thread of the service: makes one report with its own connections, and posts the result.
const { place, file, wish } = workerData as ReportJob & { readonly place: StorePlace };
parentPort?.postMessage(await answerOf(make));

async function make(): Promise<ReportMade> {
  const lines = await reportLines(readUpload(file, LARGEST_UPLOAD));
  const store = await openStore(place);
  const get = async (id: string): Promise<Run> => {
    const run = await store.runs.get(id);
    if (run === null) throw RunNotFoundError.forRun(id);
    return run;
  };
  return makeRunReport(lines, wish, { runs: { get }, store: store.reports }).finally(() => store.close());
}
