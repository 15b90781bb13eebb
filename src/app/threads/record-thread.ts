import { parentPort, workerData } from 'node:worker_threads';
import { readRecord, type RunRecord } from '../../../verifiers/index.js';
import { answerOf } from '../../jobs/job-threads.js';

// A thread of whoever works on runs: reads one record of a regression run, and is ended when that takes too long.
parentPort?.postMessage(await answerOf(() => readRecord(workerData as RunRecord)));
