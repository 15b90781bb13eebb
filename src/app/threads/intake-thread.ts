import { parentPort, workerData } from 'node:worker_threads';
import { acceptInto, PlainRunIntake, RefusedRequestError } from '../../runs/run-intake.js';
import { openStore } from '../../store/open-store.js';
import { answerOf } from '../../jobs/job-threads.js';
import type { IntakeJob, IntakeMade, IntakeSettings } from './threaded-intake.js';

// Thread of the service: reads what was sent in, and writes runs with its own connection.
const { job, settings } = workerData as { readonly job: IntakeJob; readonly settings: IntakeSettings };
parentPort?.postMessage(await answerOf(made));

async function made(): Promise<IntakeMade> {
  const { place, checks, setup } = settings;
  const store = await openStore(place);
  try {
    const accept = acceptInto(store.runs, checks, setup);
    // Readers are loaded on demand, since a thread does one job.
    if ('upload' in job) {
      const { takeUpload } = await import('./uploaded-runs.js');
      return { taken: await takeUpload(job.upload, accept, settings) };
    }
    if ('benchmark' in job) {
      const { takeBenchmark } = await import('./uploaded-benchmarks.js');
      return { benchmark: await takeBenchmark(job.benchmark, store.benchmarks, accept, { checks, setup }) };
    }
    const intake = new PlainRunIntake(accept, store.runs);
    const { how } = job;
    return { run: await ('body' in job ? intake.submit(job.body, how) : intake.again(job.id, job.change, how)) };
  } catch (error) {
    if (error instanceof RefusedRequestError) return { refused: error.refusal };
    throw error;
  } finally {
    await store.close();
  }
}
