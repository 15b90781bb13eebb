import { type Command, InvalidArgumentError, Option } from 'commander';
import type { OpenApp } from './command.js';

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Whether to start a separate worker process for the runs. */
  readonly worker: boolean;
}

const EXAMPLE = `
Example:
  $ bestk serve --port 8080
  $ curl -s localhost:8080/healthz

On addresses other than loopback, BESTK_API_KEYS is required; docs/http.md explains how to create a key.
API reference: http://localhost:8080/docs`;

/** `bestk serve`: the HTTP service. */
export function registerServe(program: Command, serve: (options: ServeOptions) => Promise<void>): void {
  program
    .command('serve')
    .description('run the HTTP service')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on, 0 for any free one', readPort, 8080)
    .option('--no-worker', 'start no worker process; `bestk worker` on the same database takes the runs')
    .addHelpText('after', EXAMPLE)
    .action((options: ServeOptions) => serve(options));
}

export interface WorkerOptions {
  readonly host: string;
  /** Absent = do not listen. */
  readonly port?: number;
  /** Set when a service started this worker; the worker then ends with the service. */
  readonly forService?: true;
}

const WORKER_EXAMPLE = `
Example, on each further machine, with the settings of the service:
  $ DATABASE_URL=postgresql://bestk:secret@db.internal/bestk bestk worker --port 9090
  $ curl -s localhost:9090/readyz

Processes runs and parts of runs (a trajectory, a model call, tests on one patch) from any service on the database. With a port
it serves /healthz, /readyz and /metrics; on addresses other than loopback, BESTK_API_KEYS is required. See docs/workers.md.`;

/** `bestk worker`: an additional process on the same database. */
export function registerWorker(program: Command, work: (options: WorkerOptions) => Promise<void>): void {
  program
    .command('worker')
    .description('process runs of a shared database')
    .option('--host <address>', 'address for health and metrics', '127.0.0.1')
    .option('--port <number>', 'port for health and metrics, 0 for any free one (default: none)', readPort)
    .addOption(new Option('--for-service').hideHelp())
    .addHelpText('after', WORKER_EXAMPLE)
    .action((options: WorkerOptions) => work(options));
}

/** Parses a port option. @throws InvalidArgumentError */
export function readPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError('must be 0 to 65535.');
  return port;
}

const MCP_EXAMPLE = `
Example, in the settings of an agent:
  {"mcpServers": {"bestk": {"command": "bestk", "args": ["mcp"]}}}
Or as a server of its own on loopback, http://127.0.0.1:8090/mcp:
  $ bestk mcp --port 8090

Tools: select_patch, verify_patch, explain_selection, run_status. Settings are the same as for the other commands.`;

/** `bestk mcp`: tools for agents over the Model Context Protocol. */
export function registerMcp(program: Command, openApp: OpenApp, version: string): void {
  program
    .command('mcp')
    .description('offer selection and verification of patches to agents (Model Context Protocol)')
    .option(
      '--port <number>',
      'streamable HTTP on loopback, 0 for any free port; without it stdin and stdout',
      readPort,
    )
    .addHelpText('after', MCP_EXAMPLE)
    .action(async ({ port }: { port?: number }) => {
      const { serveTools } = await import('./mcp/serve-tools.js');
      await serveTools(await openApp(), version, port ?? null);
    });
}
