import { parentPort, workerData } from 'node:worker_threads';
import { readRecord } from '../../../verifiers/index.js';
import { parseLog } from '../../grading/runner-logs.js';
import { answerOf } from '../../jobs/job-threads.js';
import type { LogToRead, RecordToRead } from './threaded-readers.js';

// Thread that reads one record of a regression run, or one log of hidden tests; terminated if that takes too long.
const given = workerData as RecordToRead | LogToRead;
parentPort?.postMessage(
  await answerOf(() => ('log' in given ? (parseLog(given.log)?.statuses ?? null) : readRecord(given.record))),
);
