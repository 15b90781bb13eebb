import { parentPort, workerData } from 'node:worker_threads';
import { answerOf } from './job-threads.js';
import { importUpload, type UploadJob } from './uploaded-runs.js';

// A thread of the service: reads one upload, and says what came of it.
parentPort?.postMessage(await answerOf(() => importUpload(workerData as UploadJob)));
