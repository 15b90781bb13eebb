import { parentPort, workerData } from 'node:worker_threads';
import { answerOf } from '../jobs/job-threads.js';
import { type ArmsJob, reportShare } from './arm-reports.js';

// Worker thread of `bestk bench`: reads some arms and writes their reports.
parentPort?.postMessage(await answerOf(() => reportShare(workerData as ArmsJob)));
