import { BadInputError } from '../../core/errors/errors.js';
import type { Issue } from '../../core/run/issue.js';
import { type DataSetOptions, type Fact, readDataSet } from './data-set.js';
import type { ColumnUse } from './set-reader.js';

/** What became of one column of a data set. */
export interface ColumnReport {
  readonly name: string;
  /** `unknown`: no reader knows it, so that nothing is done with it but filtering. */
  readonly use: ColumnUse | 'unknown';
  /** Rows that have a value in it. */
  readonly rows: number;
}

/** An instance as anybody may see it. */
export interface ShownInstance {
  readonly set: string;
  readonly split: string | null;
  readonly instance_id: string;
  readonly repo: string | null;
  readonly problem_statement: string;
  readonly environment: Issue['environment'];
  readonly facts: Readonly<Record<string, Fact>>;
  /** Whether hidden tests, and an authors' patch, are sealed beside it. */
  readonly has_hidden_tests: boolean;
  readonly has_gold_patch: boolean;
}

/** What is understood of a data set. */
export interface DataSetReport {
  readonly rows: number;
  readonly usable: number;
  /** Usable rows by the data set that their columns tell. */
  readonly sets: Readonly<Record<string, number>>;
  readonly with_hidden_tests: number;
  /** The first ones, without what tells their answers. */
  readonly instances: readonly ShownInstance[];
  readonly columns: readonly ColumnReport[];
  readonly rejected: readonly { readonly file: string | null; readonly row: number | null; readonly reason: string }[];
}

/** @param shown how many instances are told whole @throws BadInputError for a path that is not there or holds no row */
export async function describeDataSet(path: string, options: DataSetOptions, shown: number): Promise<DataSetReport> {
  const columns = new Map<string, { use: ColumnReport['use']; rows: number }>();
  const sets: Record<string, number> = {};
  const instances: ShownInstance[] = [];
  const rejected: DataSetReport['rejected'][number][] = [];
  let [rows, tested] = [0, 0];
  const seen: DataSetOptions['seen'] = ({ value }, reader) => {
    for (const [name, each] of Object.entries(value)) {
      const known = columns.get(name) ?? { use: reader.columns[name] ?? 'unknown', rows: 0 };
      columns.set(name, { ...known, rows: known.rows + Number(each !== null && each !== '') });
    }
  };
  for await (const read of readDataSet(path, { ...options, seen })) {
    rows += 1;
    if ('problem' in read) {
      rejected.push(reported(read.problem));
      continue;
    }
    const { set, split, issue, repo, facts, sealed } = read;
    const { tests, gold, problem } = opened(() => sealed.open());
    if (problem !== null) rejected.push(reported(problem));
    sets[set] = (sets[set] ?? 0) + 1;
    tested += Number(tests);
    const { setup_patch, ...environment } = issue.environment;
    // Its reverse is the answer.
    const setup = setup_patch === null ? null : `a patch of ${setup_patch.split('\n').length} lines`;
    const shownIssue = { ...issue, environment: { ...environment, setup_patch: setup } };
    if (instances.length < shown)
      instances.push({ set, split, repo, ...shownIssue, facts, has_hidden_tests: tests, has_gold_patch: gold });
  }
  const usable = Object.values(sets).reduce((sum, count) => sum + count, 0);
  const told = [...columns].map(([name, each]) => ({ name, ...each }));
  return { rows, usable, sets, with_hidden_tests: tested, instances, columns: told, rejected };
}

function reported(problem: BadInputError): DataSetReport['rejected'][number] {
  const { file, line } = problem.place;
  return { file: file ?? null, row: line ?? null, reason: problem.message };
}

/** Whether there is an answer, which is all that is told of it. */
function opened(open: () => { tests: unknown; gold: unknown }): {
  readonly tests: boolean;
  readonly gold: boolean;
  readonly problem: BadInputError | null;
} {
  try {
    const { tests, gold } = open();
    return { tests: tests !== null, gold: gold !== null, problem: null };
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    return { tests: false, gold: false, problem: error };
  }
}
