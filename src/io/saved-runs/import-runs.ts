import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { asSmallJson } from '../../core/json.js';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import { Candidate } from '../../core/run/candidate.js';
import type { GeneratedTest } from '../../core/run/generated-test.js';
import { Issue } from '../../core/run/issue.js';
import { tryParse } from '../records/records.js';
import { atif } from './atif.js';
import { miniSweAgent, sweAgent } from './swe-agent.js';
import { openHands } from './openhands.js';
import {
  bestkCandidates,
  bestkLabels,
  bestkTests,
  dataSetRows,
  harnessReport,
  harnessSummary,
  predictions,
} from './own-lines.js';
import { augment, r2eGym, trae } from './r2e-gym.js';
import { savedFiles } from './saved-files.js';
import { type Damage, type Found, savedRecords } from './saved-records.js';
import {
  LOCAL_BOUNDS,
  type ReadRuns,
  type RunReader,
  type SavedIssue,
  type SavedRecord,
  type SavedRun,
  type Sealed,
} from './saved-run.js';

/** Items found by an import, in file order. */
export type Imported =
  | { readonly kind: 'run'; readonly run: SavedRun }
  | { readonly kind: 'issue'; readonly issue: SavedIssue }
  | { readonly kind: 'test'; readonly test: GeneratedTest }
  | { readonly kind: 'sealed'; readonly row: Sealed; readonly file: string }
  | { readonly kind: 'rejected'; readonly damage: Damage }
  /** An identical copy of a candidate; skipped. */
  | { readonly kind: 'duplicate'; readonly run: SavedRun }
  /** Another attempt had the same id; this one got a new name. */
  | { readonly kind: 'renamed'; readonly run: SavedRun; readonly from: string };

/**
 * Reads saved runs of any known format from files and folders, one record at a time. Unreadable parts are reported with
 * file, line, byte and reason, and reading continues.
 * @throws BadInputError for a missing path
 */
export async function* importRuns(paths: readonly string[], bounds = LOCAL_BOUNDS): AsyncGenerator<Imported> {
  const names = new Names();
  for await (const file of savedFiles(paths)) {
    if (isPart(file)) continue;
    for await (const found of withParts(file, savedRecords(file, bounds))) {
      if ('damage' in found) yield { kind: 'rejected', damage: found.damage };
      else yield* importRecord(found.record, names);
    }
  }
}

function* importRecord(record: SavedRecord, names: Names): Generator<Imported> {
  const read = readRuns(record);
  if (typeof read === 'string') {
    yield damaged(record, read);
    return;
  }
  const renamed = new Map<string, string | null>();
  for (const run of read.runs) {
    const name = names.nameOf(run);
    renamed.set(run.candidate_id, name);
    const wrong = name === null ? null : wrongId(run.instance_id, name);
    yield wrong === null ? called(run, name) : damaged(record, wrong);
  }
  for (const row of read.sealed) yield labelled(row, record, renamed);
  for (const issue of read.issues ?? []) yield { kind: 'issue', issue };
  for (const test of read.tests ?? []) yield { kind: 'test', test };
}

/** The contents of a record, or why it cannot be read. */
function readRuns(record: SavedRecord): ReadRuns | string {
  try {
    return readerOf(record)?.read(record) ?? 'is of no known format';
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    return error.message;
  }
}

function damaged({ file, line }: SavedRecord, reason: string): Imported {
  return { kind: 'rejected', damage: { file, line: line ?? null, byte: null, reason } };
}

/** @param renamed new names of the runs in the same record */
function labelled(row: Sealed, record: SavedRecord, renamed: ReadonlyMap<string, string | null>): Imported {
  const name = row.candidate_id === null ? null : (renamed.get(row.candidate_id) ?? row.candidate_id);
  const wrong = wrongId(row.instance_id, name ?? 'any');
  return wrong === null
    ? { kind: 'sealed', row: { ...row, candidate_id: name }, file: record.file }
    : damaged(record, wrong);
}

/** @param name its own id, a new one, or null for a duplicate */
function called(run: SavedRun, name: string | null): Imported {
  if (name === null) return { kind: 'duplicate', run };
  if (name === run.candidate_id) return { kind: 'run', run };
  return { kind: 'renamed', run: { ...run, candidate_id: name }, from: run.candidate_id };
}

const Ids = Candidate.pick({ instance_id: true, candidate_id: true });

/** Why the ids are invalid for a candidate, or null. */
function wrongId(instance_id: string, candidate_id: string): string | null {
  const [issue] = Ids.safeParse({ instance_id, candidate_id }).error?.issues ?? [];
  return issue === undefined ? null : `${issue.path.join('.')}: ${issue.message}`;
}

/** Contents of the runs with one id, and the next number for a new name. */
interface Namesakes {
  readonly contents: Set<string>;
  next: number;
}

/** Candidate ids of one instance, each with its content. */
class NamesOfInstance {
  private readonly contents = new Map<string, string>();
  private readonly namesakes = new Map<string, Namesakes>();

  nameOf(id: string, content: string): string | null {
    const others = this.namesakes.get(id) ?? { contents: new Set(), next: 1 };
    this.namesakes.set(id, others);
    while (!others.contents.has(content)) {
      const name = others.next === 1 ? id : `${id}#${others.next}`;
      const taken = this.contents.get(name);
      others.contents.add(taken ?? content);
      others.next += 1;
      if (taken !== undefined) continue;
      this.contents.set(name, content);
      return name;
    }
    return null;
  }
}

/** Candidate ids of every instance. */
class Names {
  private readonly instances = new Map<string, NamesOfInstance>();

  /** Its own id, a new one if another run has it, or null if that run is identical. */
  nameOf(run: SavedRun): string | null {
    const names = this.instances.get(run.instance_id) ?? new NamesOfInstance();
    this.instances.set(run.instance_id, names);
    return names.nameOf(run.candidate_id, contentOf(run));
  }
}

/**
 * Equal for the same run read twice. Without steps, a run cannot be told from another attempt with the same patch, so
 * its origin decides.
 */
function contentOf({ patch, trajectory, origin }: SavedRun): string {
  const steps = trajectory?.steps ?? [];
  if (steps.length === 0) return JSON.stringify([origin.file, origin.line, origin.id]);
  const hash = createHash('sha256').update(patch);
  for (const { thought, action, observation } of steps) hash.update(`\n${thought}\n${action}\n${observation}`);
  return hash.digest('base64');
}

/** Files of an import's folder that belong to its `candidates.jsonl`. */
const PARTS = ['trajectories.jsonl', 'issues.jsonl', 'tests.jsonl', 'rejected.jsonl'];
const NEEDED = PARTS.filter((name) => name !== 'tests.jsonl');

function isImport(folder: string): boolean {
  return ['candidates.jsonl', ...NEEDED].every((name) => existsSync(join(folder, name)));
}

/** Whether a file is read together with the candidates in its folder. */
export function isPart(file: string): boolean {
  return PARTS.includes(basename(file)) && isImport(dirname(file));
}

/**
 * An import's candidates, each joined with its trajectory and issue from the other files of the folder; trajectories
 * are in the same order.
 */
export async function* withParts(file: string, records: AsyncIterable<Found>): AsyncGenerator<Found> {
  const folder = dirname(file);
  if (basename(file) !== 'candidates.jsonl' || !isImport(folder)) {
    yield* withIssue(await issueOfRun(file), records);
    return;
  }
  const issues = new Map<unknown, Row>();
  for await (const issue of valuesOf(join(folder, 'issues.jsonl'))) issues.set(issue.instance_id, issue);
  const trajectories = new InOrder(valuesOf(join(folder, 'trajectories.jsonl')));
  for await (const found of records) {
    if ('damage' in found) yield found;
    else {
      const { value } = found.record;
      const { problem_statement, image, environment } = issues.get(value.instance_id) ?? {};
      const trajectory = await trajectories.of(value);
      yield { record: { ...found.record, value: { ...value, problem_statement, image, environment, trajectory } } };
    }
  }
}

const RunFile = z.object({ request: z.object({ issue: Issue }) });

/** The issue of a `select` or `solve` run, from its output folder; null for other folders. */
async function issueOfRun(file: string): Promise<Issue | null> {
  const run = join(dirname(file), 'run.json');
  if (basename(file) !== 'candidates.jsonl' || !existsSync(run)) return null;
  const parsed = RunFile.safeParse(tryParse(await readFile(run, 'utf8')));
  return parsed.data?.request.issue ?? null;
}

async function* withIssue(issue: Issue | null, records: AsyncIterable<Found>): AsyncGenerator<Found> {
  for await (const found of records) {
    if ('damage' in found || issue === null) yield found;
    else {
      const { problem_statement, environment } = issue;
      const about = { problem_statement, environment, image: environment.image };
      yield { record: { ...found.record, value: { ...about, ...found.record.value } } };
    }
  }
}

type Row = SavedRecord['value'];

/** Looks up trajectories sequentially: callers ask in file order. */
class InOrder {
  private next: Row | null | undefined;

  constructor(private readonly rows: AsyncGenerator<Row>) {}

  async of({ instance_id, candidate_id }: Row): Promise<unknown> {
    if (this.next === undefined) this.next = await this.advance();
    const { next } = this;
    if (next?.instance_id !== instance_id || next?.candidate_id !== candidate_id) return null;
    this.next = undefined;
    return next?.trajectory;
  }

  private async advance(): Promise<Row | null> {
    const result = await this.rows.next();
    return result.done === true ? null : result.value;
  }
}

async function* valuesOf(file: string): AsyncGenerator<Row> {
  for await (const found of savedRecords(file)) if ('record' in found) yield found.record.value;
}

/** Every supported format. To add one: a file in this folder, and a line here. */
export const RUN_READERS: readonly RunReader[] = [
  r2eGym,
  sweAgent,
  miniSweAgent,
  openHands,
  atif,
  predictions,
  harnessReport,
  augment,
  trae,
  bestkCandidates,
  bestkLabels,
  harnessSummary,
  bestkTests,
  dataSetRows,
];

/** Limited because a program may write any number of lines, and each takes time to parse. */
const LAST_LINES = 100;
/** Of one; see docs/http.md for what real ones have. */
const MOST_VALUES = 100_000;

/**
 * The steps of a trajectory in any of these formats: a document, or one of the last lines of JSONL; null for anything
 * else.
 */
export function readTrajectory(text: string): readonly TrajectoryStep[] | null {
  for (const written of [text, ...text.trimEnd().split('\n').slice(-LAST_LINES).reverse()]) {
    const value = z.record(z.string(), z.unknown()).safeParse(asSmallJson(written, MOST_VALUES)).data;
    const steps = value === undefined ? null : stepsIn({ value, file: 'trajectory' });
    if (steps !== null) return steps;
  }
  return null;
}

function stepsIn(record: SavedRecord): readonly TrajectoryStep[] | null {
  try {
    const [run] = readerOf(record)?.read(record).runs ?? [];
    return run?.trajectory?.steps ?? null;
  } catch (error) {
    if (error instanceof BadInputError) return null;
    throw error;
  }
}

/** Finds the reader of a record, by its content. */
export function readerOf(record: SavedRecord): RunReader | undefined {
  return RUN_READERS.find((reader) => reader.recognises(record.value, record));
}
