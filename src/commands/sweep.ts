import type { Command } from 'commander';
import { printJson, printText } from './answer.js';
import type { OpenApp } from './app.js';

const EXAMPLE = `
Example:
  $ bestk sweep

Containers of a bestk process that is still alive stay, and so does everything that bestk did not make.`;

/** `bestk sweep`: removes what dead processes left. */
export function registerSweep(program: Command, openApp: OpenApp): void {
  program
    .command('sweep')
    .description('remove containers that this program left behind')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async ({ json }: { json?: true }) => {
      const app = await openApp();
      const removed = await app.sandbox.sweep().finally(() => app.close());
      if (json === true) printJson({ removed });
      else printText(`Removed ${removed} container${removed === 1 ? '' : 's'}.`);
    });
}
