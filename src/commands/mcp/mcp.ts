import type { Command } from 'commander';
import type { OpenApp } from '../app.js';
import { readPort } from '../serve.js';

const EXAMPLE = `
Example, in the settings of an agent:
  {"mcpServers": {"bestk": {"command": "bestk", "args": ["mcp"]}}}
Or as a server of its own on loopback, http://127.0.0.1:8090/mcp:
  $ bestk mcp --port 8090

Tools: select_patch, verify_patch, explain_selection, run_status. Settings are those of the other commands.`;

/** `bestk mcp`: tools for agents, by the Model Context Protocol. */
export function registerMcp(program: Command, openApp: OpenApp, version: string): void {
  program
    .command('mcp')
    .description('offer selection and verification of patches to agents (Model Context Protocol)')
    .option(
      '--port <number>',
      'streamable HTTP on loopback, 0 for any free port; without it stdin and stdout',
      readPort,
    )
    .addHelpText('after', EXAMPLE)
    .action(async ({ port }: { port?: number }) => {
      const { serveTools } = await import('./serve-tools.js');
      await serveTools(await openApp(), version, port ?? null);
    });
}
