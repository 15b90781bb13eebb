import { parentPort, workerData } from 'node:worker_threads';
import { RunNotFoundError } from '../../core/errors/errors.js';
import { openRun } from '../../http/runs/evidence-of-run.js';
import { type PartJob, partOf } from '../../http/runs/judge-prompt-view.js';
import { openStore } from '../../store/open-store.js';
import type { StorePlace } from '../../store/store.js';
import { answerOf } from '../../jobs/job-threads.js';

// Thread of the service: reads a part of a large run with its own connection.
const { place, job } = workerData as { readonly place: StorePlace; readonly job: PartJob };
const answer = await answerOf(read);
parentPort?.postMessage(answer, 'made' in answer ? [answer.made.buffer] : []);

async function read(): Promise<Uint8Array<ArrayBuffer>> {
  const store = await openStore(place);
  try {
    const run = await store.runs.get(job.id);
    if (run === null) throw RunNotFoundError.forRun(job.id);
    const part = partOf(openRun(run), job);
    // Encoded into a separate buffer, which can be transferred without a copy.
    return new TextEncoder().encode(typeof part === 'string' ? part : JSON.stringify(part));
  } finally {
    await store.close();
  }
}
