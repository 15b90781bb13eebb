import { Command } from 'commander';
import { printFailure } from '../../../src/commands/answer.js';
import { registerCurves } from '../../../src/commands/curves.js';

/** The program with `curves` alone, as a process of its own. */
const program = new Command('bestk');
registerCurves(program);
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = printFailure(error, process.argv.includes('--json'));
}
