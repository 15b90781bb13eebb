import type { Command } from 'commander';
import { readPort } from './read-port.js';

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
}

const EXAMPLE = `
Example:
  $ bestk serve --port 8080
  $ curl -s localhost:8080/healthz

Off loopback BESTK_API_KEYS is required: docs/http.md says how to make a key.
What can be asked: http://localhost:8080/docs`;

/** `bestk serve`: the HTTP service. */
export function registerServe(program: Command, serve: (options: ServeOptions) => Promise<void>): void {
  program
    .command('serve')
    .description('run the HTTP service')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on, 0 for any free one', readPort, 8080)
    .addHelpText('after', EXAMPLE)
    .action((options: ServeOptions) => serve(options));
}
