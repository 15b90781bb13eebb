import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { Environment, Issue } from '../../core/run/issue.js';
import { parseRecord, placeOf } from '../records/records.js';
import { type ImageTemplates, imageOf, imageTemplates, dataFiles, type DataRow, dataRows } from './rows.js';
import { bestkIssues, multiSweBench, r2eGymSet, sweBenchPro } from './other-sets.js';
import { type RowIssue, Sealed, type SetReader } from './set-reader.js';
import { sweBench, sweBench5, sweBenchLive, sweGym, sweRebench, sweSmith } from './swe-bench-sets.js';
import { UnreadColumns, unreadNoteText } from '../saved-runs/unread-columns.js';
import { listed } from '../../core/hostile-text.js';

/** Readers of all supported data sets, most specific first. To add one: write a reader and list it here. */
export const SET_READERS: readonly SetReader[] = [
  bestkIssues,
  sweBenchPro,
  multiSweBench,
  r2eGymSet,
  sweRebench,
  sweBenchLive,
  sweBench5,
  sweSmith,
  sweGym,
  sweBench,
];

/** Finds the reader of a row by its columns. */
export function setReaderOf(row: DataRow['value']): SetReader | undefined {
  return SET_READERS.find((reader) => reader.recognises(row));
}

/** A plain value that instances can be filtered by. */
export type Fact = string | number | boolean;

/** One instance of a data set: the public part, and the answer, sealed. */
export interface DataSetInstance {
  readonly set: string;
  readonly split: string | null;
  readonly issue: Issue;
  readonly repo: string | null;
  /** Plain values of the row that reveal nothing about its answer. */
  readonly facts: Readonly<Record<string, Fact>>;
  readonly sealed: Sealed;
}

export interface DataSetOptions {
  readonly split?: string | undefined;
  readonly images?: ImageTemplates | undefined;
  /** Called for every recognised row. */
  readonly seen?: (row: DataRow, reader: SetReader) => void;
}

/** A row without a usable instance, and why. */
export interface RejectedRow {
  /** Null if it cannot be determined. */
  readonly instance_id: string | null;
  readonly problem: BadInputError;
}

export type ReadRow = DataSetInstance | RejectedRow;

/**
 * The instances of a data set, one at a time, in row order. An unusable row is yielded as a problem, and reading
 * continues.
 * @param path a file, a downloaded folder, or `-` for standard input
 * @throws BadInputError if the path does not exist or holds no row
 */
export async function* readDataSet(path: string, options: DataSetOptions = {}): AsyncGenerator<ReadRow> {
  const lines = new Map<string, number | undefined>();
  for await (const row of rowsOf(path, options.split)) {
    if (row instanceof BadInputError) {
      yield { instance_id: null, problem: row };
      continue;
    }
    const read = orProblem(row, () => instanceOf(row, options));
    const id = 'problem' in read ? read.instance_id : read.issue.instance_id;
    if (id !== null && lines.has(id)) yield { instance_id: id, problem: repeated(row, id, lines.get(id)) };
    else yield read;
    if (id !== null && !lines.has(id)) lines.set(id, row.line);
  }
}

async function* rowsOf(path: string, split: string | undefined): AsyncGenerator<DataRow | BadInputError> {
  let found = 0;
  for (const file of await dataFiles(path, split)) {
    for await (const row of dataRows(file)) {
      found += 1;
      yield row;
    }
  }
  if (found === 0) {
    throw new BadInputError('has no records.', { file: path }, 'Use a file with at least one record.');
  }
}

function orProblem({ value }: DataRow, work: () => DataSetInstance): ReadRow {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    return { instance_id: typeof value.instance_id === 'string' ? value.instance_id : null, problem: error };
  }
}

function repeated(row: DataRow, id: string, line: number | undefined): BadInputError {
  const where = line === undefined ? 'earlier in the file' : `on line ${line}`;
  const next = 'Give every record a unique id.';
  return new BadInputError(`"${id}" already occurs ${where}.`, placeOf(row, 'instance_id'), next);
}

function instanceOf(row: DataRow, { images, seen }: DataSetOptions): DataSetInstance {
  const reader = setReaderOf(row.value) ?? unknownRow(row);
  seen?.(row, reader);
  const given = reader.issue(row);
  const facts = { ...factsOf(row, reader), set: reader.set, ...(row.split === null ? {} : { split: row.split }) };
  return {
    set: reader.set,
    split: row.split,
    issue: issueOf(row, given, images),
    repo: given.repo,
    facts: given.repo === null ? facts : { ...facts, repo: given.repo },
    sealed: new Sealed(() => reader.sealed(row)),
  };
}

const Named = z.object({ instance_id: z.string(), problem_statement: z.string() });

/** A row of no known set: reports a missing basic column first, if there is one. */
function unknownRow(row: DataRow): never {
  parseRecord(Named, row);
  throw new BadInputError(
    'is of no known data set.',
    placeOf(row, ''),
    '`bestk datasets show` lists the known columns.',
  );
}

function issueOf(row: DataRow, given: RowIssue, images: ImageTemplates | undefined): Issue {
  const { instance_id, problem_statement, repo } = given;
  const own = typeof given.environment.image === 'string' ? given.environment.image : null;
  const image = imageOf({ instance_id, repo, image: own }, images);
  if (image === null) {
    throw new BadInputError(
      'is missing',
      placeOf(row, 'environment.image'),
      'Name the container image of the instance in the issue, or pass --image.',
    );
  }
  if (problem_statement.trim() === '') {
    throw new BadInputError(
      'is empty',
      placeOf(row, 'problem_statement'),
      'Add the problem statement, or remove the row.',
    );
  }
  const environment = { ...given.environment, image };
  return {
    ...parseRecord(Issue.pick({ instance_id: true, problem_statement: true }), {
      ...row,
      value: { instance_id, problem_statement },
    }),
    environment: parseRecord(Environment, { ...row, value: environment }, 'environment'),
  };
}

const LONGEST_FACT = 200;

/** Includes unknown columns, so that users can filter by them. */
function factsOf({ value }: DataRow, { columns }: SetReader): Record<string, Fact> {
  const facts: Record<string, Fact> = {};
  for (const [column, each] of Object.entries(value)) {
    if (columns[column] === 'sealed') continue;
    const isPlain = typeof each === 'number' || typeof each === 'boolean' || typeof each === 'string';
    if (isPlain && String(each).length <= LONGEST_FACT) facts[column] = each;
  }
  return facts;
}

/**
 * Answers from a file that needs no problem statements: hidden tests stored separately from their issues.
 * @throws BadInputError naming file, line and field
 */
export async function* readSealed(path: string): AsyncGenerator<{ instance_id: string; sealed: Sealed; row: DataRow }> {
  for await (const row of rowsOf(path, undefined)) {
    if (row instanceof BadInputError) throw row;
    const { instance_id } = parseRecord(z.object({ instance_id: z.string().min(1) }), withId(row));
    const reader = setReaderOf(row.value) ?? sweBench;
    yield { instance_id, sealed: new Sealed(() => reader.sealed(row)), row };
  }
}

/** Adds the instance id that the row's data set derives. */
function withId(row: DataRow): DataRow {
  const { instance_id, docker_image } = row.value;
  if (instance_id !== undefined) return row;
  const reader = setReaderOf(row.value);
  const id = docker_image ?? (reader === multiSweBench ? reader.issue(row).instance_id : undefined);
  return { ...row, value: { ...row.value, instance_id: id } };
}

export interface IssuesOptions {
  /** Ids of the instances to read; absent = all. */
  readonly instances?: readonly string[] | undefined;
  /** Templates of image names, see `imageTemplates`. */
  readonly image?: readonly string[] | undefined;
  readonly split?: string | undefined;
  /** Skip rows without a usable issue. */
  readonly lenient?: boolean;
  /** Receives a note on columns that say how to run tests, or in which image, and are not read. */
  readonly onUnread?: (note: string) => void;
}

/** Names of columns, in any set, that say how an instance's tests are run. */
const RUN_COLUMN =
  /(^|_)(image|docker\w*|log_parser|install_config|(test|eval|run|build|rebuild|setup)_?(cmds?|commands?|scripts?))$/i;

function noteUnreadRunColumns(unread: UnreadColumns, row: DataRow, { set, columns }: SetReader): void {
  const read = Object.keys(row.value).filter((column) => column in columns || !RUN_COLUMN.test(column));
  unread.add(row, { format: set, columns: () => read });
}

/**
 * The issues of a file in its order, in bestk's own format or of any known data set. Takes only an issue's members from
 * a row: the answer (gold patch, tests, hints) is left out.
 * @throws BadInputError naming file, line and field of the first row without a usable issue, or a missing instance
 */
export async function readIssues(
  file: string,
  { instances, image = [], split, lenient = false, onUnread }: IssuesOptions = {},
): Promise<readonly [Issue, ...Issue[]]> {
  const wanted = instances === undefined ? null : new Set(instances);
  const asked = (id: string | null): boolean => wanted === null || id === null || wanted.has(id);
  const issues: Issue[] = [];
  const ids = new Set<string>();
  const unread = new UnreadColumns();
  const seen = (row: DataRow, reader: SetReader): void => {
    noteUnreadRunColumns(unread, row, reader);
  };
  for await (const read of readDataSet(file, { split, images: imageTemplates(image), seen })) {
    const id = idOf(read);
    if (id !== null) ids.add(id);
    // Problems of instances that were not requested are not reported.
    if (asked(id)) issues.push(...issueIn(read, lenient));
  }
  requireAll(file, wanted, ids);
  for (const note of unread.notes()) onUnread?.(unreadNoteText(note));
  return nonEmpty(file, issues);
}

function issueIn(read: ReadRow, lenient: boolean): readonly Issue[] {
  if ('issue' in read) return [read.issue];
  if (lenient) return [];
  throw read.problem;
}

function idOf(read: ReadRow): string | null {
  return 'problem' in read ? read.instance_id : read.issue.instance_id;
}

function nonEmpty(file: string, [first, ...others]: readonly Issue[]): readonly [Issue, ...Issue[]] {
  if (first === undefined) throw new BadInputError('has no instances.', { file });
  return [first, ...others];
}

function requireAll(file: string, wanted: ReadonlySet<string> | null, ids: ReadonlySet<string>): void {
  for (const id of wanted ?? []) {
    if (!ids.has(id)) throw new BadInputError(`has no instance "${id}".`, { file }, `It contains: ${listed([...ids])}`);
  }
}
