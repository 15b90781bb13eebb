import type { Command } from 'commander';
import { EXIT } from '../core/errors/errors.js';
import type { DataSetReport } from '../io/datasets/filter.js';
import { collected, wholeNumber } from './command.js';
import { printJson, printText } from './output.js';

interface ShowOptions {
  readonly split?: string;
  readonly image: readonly string[];
  readonly first: number;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk datasets show SWE-bench_Verified/
  $ bestk datasets show rows.parquet --json
  $ zcat rows.jsonl.gz | bestk datasets show -

Reads JSON, JSONL and parquet (also .gz and .zst), a downloaded folder, or standard input (-). Rows are told by their
columns: SWE-bench (Lite, Verified, Multilingual, Live, Pro), SWE-Gym, SWE-smith, SWE-rebench, R2E-Gym, Multi-SWE-bench,
and bestk's own issues. What tells an answer is sealed: it is counted, never shown.

Exit: 0 done, 2 bad input or no usable row.`;

/** `bestk datasets show`: how bestk reads a data set. */
export function registerDatasets(program: Command): void {
  const datasets = program.command('datasets').description('data sets of issues');
  datasets
    .command('show')
    .description('show how a data set is read: first instances, every column, rejected rows')
    .argument('<path>', 'file, downloaded folder, or - for standard input')
    .option('--split <name>', 'split of a data set folder (default: test)')
    .option('--image <template>', 'as in `bestk bench run`', collected, [])
    .option('--first <n>', 'instances to show', wholeNumber, 3)
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (path: string, { split, image, first, json }: ShowOptions) => {
      const { describeDataSet } = await import('../io/datasets/filter.js');
      const { imageTemplates } = await import('../io/datasets/rows.js');
      const report = await describeDataSet(path, { split, images: imageTemplates(image) }, first);
      if (json === true) printJson(report);
      else printText(await summary(report));
      process.exitCode = report.usable === 0 ? EXIT.badInput : EXIT.done;
    });
}

const SHOWN_REJECTS = 10;
const LONGEST_STATEMENT = 300;

async function summary({ rows, usable, sets, instances, columns, ...rest }: DataSetReport): Promise<string> {
  const { table } = await import('../reports/selection-table.js');
  const { visibleLine } = await import('../core/hostile-text.js');
  const names = Object.entries(sets).map(([set, count]) => `${set} (${count})`);
  const shown = instances.flatMap(({ instance_id, set, repo, environment, problem_statement }) => [
    '',
    visibleLine(instance_id),
    `  set ${set}, repository ${visibleLine(repo ?? 'unknown')}`,
    `  image ${visibleLine(environment.image)}, working directory ${visibleLine(environment.workdir)}`,
    `  ${visibleLine(problem_statement.replace(/\s+/g, ' ').slice(0, LONGEST_STATEMENT))}`,
  ]);
  const rejected = rest.rejected.slice(0, SHOWN_REJECTS).map(({ reason }) => visibleLine(reason));
  return [
    `${usable} of ${rows} rows can be used: ${names.join(', ')}; ${rest.with_hidden_tests} with hidden tests`,
    ...shown,
    '',
    table([
      ['column', 'use', 'rows'],
      ...columns.map(({ name, use, rows: of }) => [visibleLine(name), use, String(of)]),
    ]),
    ...(rejected.length === 0 ? [] : ['', `Rejected (${rest.rejected.length}):`, ...rejected]),
  ].join('\n');
}
