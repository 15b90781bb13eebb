import type { Command } from 'commander';
import { readPort } from './read-port.js';

export interface WorkerOptions {
  readonly host: string;
  /** Absent = it does not listen. */
  readonly port?: number;
}

const EXAMPLE = `
Example, on each further machine, with the settings of the service:
  $ DATABASE_URL=postgresql://bestk:secret@db.internal/bestk bestk worker --port 9090
  $ curl -s localhost:9090/readyz

Takes runs and parts of runs (a rollout, a verdict, tests on one patch) from the database, whoever accepted them. With a
port it answers /healthz, /readyz and /metrics; off loopback BESTK_API_KEYS is required. docs/workers.md says more.`;

/** `bestk worker`: a further process for the same database. */
export function registerWorker(program: Command, work: (options: WorkerOptions) => Promise<void>): void {
  program
    .command('worker')
    .description('work on the runs of a database that several processes share')
    .option('--host <address>', 'address to answer health and metrics on', '127.0.0.1')
    .option('--port <number>', 'port to answer them on, 0 for any free one; without it nothing listens', readPort)
    .addHelpText('after', EXAMPLE)
    .action((options: WorkerOptions) => work(options));
}
