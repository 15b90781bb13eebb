import { parentPort, workerData } from 'node:worker_threads';
import { parseLog, type PrintedLog } from '../../grading/runner-logs.js';
import { answerOf } from '../../jobs/job-threads.js';

// A thread of whoever grades beside answering others: reads one log, and is ended when that takes too long.
parentPort?.postMessage(await answerOf(() => parseLog(workerData as PrintedLog).statuses));
