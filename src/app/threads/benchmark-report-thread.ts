import { parentPort, workerData } from 'node:worker_threads';
import { StoredBenchmarkReports } from '../../benchmarks/stored-reports.js';
import { answerOf } from '../../jobs/job-threads.js';
import { openStore } from '../../store/open-store.js';
import type { BenchmarkReportJob } from './threaded-reports.js';

// Thread of the service: makes the report of one benchmark, with its own connections.
const { place, asked } = workerData as BenchmarkReportJob;
parentPort?.postMessage(await answerOf(make));

async function make(): Promise<string> {
  const store = await openStore(place);
  return new StoredBenchmarkReports(store.benchmarks, store.runs).make(...asked).finally(() => store.close());
}
