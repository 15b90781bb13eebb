import { createHash } from 'node:crypto';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { asSmallJson } from '../../core/json.js';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import { Candidate } from '../../core/run/candidate.js';
import type { GeneratedTest } from '../../core/run/generated-test.js';
import { atif } from './atif.js';
import { isPart, withParts } from './imported-folder.js';
import { miniSweAgent, sweAgent } from './swe-agent.js';
import { openHands } from './openhands.js';
import { harnessReport, harnessSummary } from './harness-results.js';
import { bestkCandidates, bestkLabels, bestkTests, dataSetRows, predictions } from './own-lines.js';
import { augment, r2eGym, trae } from './r2e-gym.js';
import { trajectoryRows } from './trajectory-rows.js';
import { UnreadColumns, type UnreadNote } from './unread-columns.js';
import { savedFiles } from './saved-files.js';
import { type Damage, type Found, isWithin, patchHash, savedRecords } from './saved-records.js';
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
  /** `line`: that of a file of labels. */
  | { readonly kind: 'sealed'; readonly row: Sealed; readonly file: string; readonly line?: number | undefined }
  | { readonly kind: 'rejected'; readonly damage: Damage }
  /** Columns that rows with candidates have, but that are not read; after everything else. */
  | { readonly kind: 'unread'; readonly note: UnreadNote }
  /** A copy of the candidate whose id `run` has; `from` is the copy's own id. Skipped. */
  | { readonly kind: 'duplicate'; readonly run: SavedRun; readonly from: string }
  /** Another attempt had the same id; this one got a new name. */
  | { readonly kind: 'renamed'; readonly run: SavedRun; readonly from: string };

/**
 * Reads saved runs of any known format from files and folders, one record at a time. Unreadable parts are reported with
 * file, line, byte and reason, and reading continues. Files of predictions come last, because they may repeat runs.
 * @throws BadInputError for a missing path
 */
export async function* importRuns(paths: readonly string[], bounds = LOCAL_BOUNDS): AsyncGenerator<Imported> {
  const names = new Names();
  const unread = new UnreadColumns();
  const last: string[] = [];
  for await (const file of savedFiles(paths)) {
    if (isPart(file)) continue;
    for await (const found of untilPredictions(withParts(file, savedRecords(file, bounds)))) {
      if (found === null) last.push(file);
      else yield* importFound(found, names, unread);
    }
  }
  for (const file of last) {
    for await (const found of fromFirstRecord(savedRecords(file, bounds))) yield* importFound(found, names, unread);
  }
  for (const note of unread.notes()) yield { kind: 'unread', note };
}

/** What a file holds; null, and nothing more, if its first record is a prediction. */
async function* untilPredictions(all: AsyncIterable<Found>): AsyncGenerator<Found | null> {
  let isFirst = true;
  for await (const found of all) {
    if (isFirst && 'record' in found) {
      isFirst = false;
      if (readerOf(found.record) === predictions) {
        yield null;
        return;
      }
    }
    yield found;
  }
}

/** Leaves out the damage before the first record, which was told when the format was detected. */
async function* fromFirstRecord(all: AsyncIterable<Found>): AsyncGenerator<Found> {
  let isTold = true;
  for await (const found of all) {
    isTold &&= 'damage' in found;
    if (!isTold) yield found;
  }
}

function* importFound(found: Found, names: Names, unread: UnreadColumns): Generator<Imported> {
  if ('damage' in found) {
    yield { kind: 'rejected', damage: found.damage };
    return;
  }
  const { record } = found;
  const reader = readerOf(record);
  const read = reader === undefined ? 'is of no known format' : readRuns(reader, record);
  if (typeof read === 'string') {
    yield damaged(record, read);
    return;
  }
  if (read.runs.length > 0) unread.add(record, reader);
  yield* importContents(read, record, names);
}

function* importContents(read: ReadRuns, record: SavedRecord, names: Names): Generator<Imported> {
  const renamed = new Map<string, string>();
  for (const run of read.runs) {
    const named = names.nameOf(run);
    renamed.set(run.candidate_id, named.name);
    const wrong = wrongId(run.instance_id, named.name);
    yield wrong === null ? called(run, named) : damaged(record, wrong);
  }
  const line = readerOf(record) === bestkLabels ? record.line : undefined;
  for (const row of read.sealed) yield labelled({ row, line }, record, renamed);
  for (const issue of read.issues ?? []) yield { kind: 'issue', issue };
  for (const test of read.tests ?? []) yield { kind: 'test', test };
}

/** The contents of a record, or why it cannot be read. */
function readRuns(reader: RunReader, record: SavedRecord): ReadRuns | string {
  try {
    return reader.read(record);
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    return error.message;
  }
}

function damaged({ file, line }: SavedRecord, reason: string): Imported {
  return { kind: 'rejected', damage: { file, line: line ?? null, byte: null, reason } };
}

/** @param renamed new names of the runs in the same record */
function labelled(
  { row, line }: { readonly row: Sealed; readonly line: number | undefined },
  record: SavedRecord,
  renamed: ReadonlyMap<string, string>,
): Imported {
  const name = row.candidate_id === null ? null : (renamed.get(row.candidate_id) ?? row.candidate_id);
  const wrong = wrongId(row.instance_id, name ?? 'any');
  return wrong === null
    ? { kind: 'sealed', row: { ...row, candidate_id: name }, file: record.file, line }
    : damaged(record, wrong);
}

function called(run: SavedRun, { name, isCopy }: Name): Imported {
  if (name === run.candidate_id && !isCopy) return { kind: 'run', run };
  return { kind: isCopy ? 'duplicate' : 'renamed', run: { ...run, candidate_id: name }, from: run.candidate_id };
}

const Ids = Candidate.pick({ instance_id: true, candidate_id: true });

/** Why the ids are invalid for a candidate, or null. */
function wrongId(instance_id: string, candidate_id: string): string | null {
  const [issue] = Ids.safeParse({ instance_id, candidate_id }).error?.issues ?? [];
  return issue === undefined ? null : `${issue.path.join('.')}: ${issue.message}`;
}

/** The id of a new candidate, or of the one that a run is a copy of. */
interface Name {
  readonly name: string;
  readonly isCopy: boolean;
}

/** Contents of the runs with one id with their names, and the next number for a new name. */
interface Namesakes {
  readonly contents: Map<string, string>;
  next: number;
}

/** A candidate with steps, of which other files may hold copies. */
type Original = Pick<SavedRun, 'origin'> & { readonly name: string; readonly id: string };

/** Candidate ids of one instance, each with its content. */
class NamesOfInstance {
  private readonly contents = new Map<string, string>();
  private readonly namesakes = new Map<string, Namesakes>();
  /** By content, and by patch: one of each file. */
  private readonly originals = new Map<string, Original[]>();

  nameOf(run: SavedRun): Name {
    const content = contentOf(run);
    const original = this.originalOf(run, content);
    const named = original === undefined ? this.named(run.candidate_id, content) : { name: original, isCopy: true };
    if (hasSteps(run) && !named.isCopy) for (const key of [content, patchHash(run)]) this.keep(key, run, named.name);
    return named;
  }

  /**
   * Tools save a run again under another id: the chosen one of several attempts with its steps, in the folder of the
   * attempts or above, and the patches of all runs as predictions, which have no steps.
   */
  private originalOf(run: SavedRun, content: string): string | undefined {
    const { file, format } = run.origin;
    const found = this.originals.get(hasSteps(run) ? content : patchHash(run)) ?? [];
    return found.find((other) => {
      const place = other.origin.file;
      if (hasSteps(run)) return place !== file && (isWithin(place, file) || isWithin(file, place));
      return REPEATING.has(format) && place !== file && isWithin(place, file) && isSameAgent(run, other);
    })?.name;
  }

  private keep(key: string, { candidate_id: id, origin }: SavedRun, name: string): void {
    const known = this.originals.get(key) ?? [];
    if (known.length === 0) this.originals.set(key, known);
    if (!known.some((other) => other.origin.file === origin.file)) known.push({ origin, name, id });
  }

  private named(id: string, content: string): Name {
    const others = this.namesakes.get(id) ?? { contents: new Map<string, string>(), next: 1 };
    this.namesakes.set(id, others);
    for (;;) {
      const copied = others.contents.get(content);
      if (copied !== undefined) return { name: copied, isCopy: true };
      const name = others.next === 1 ? id : `${id}#${others.next}`;
      const taken = this.contents.get(name);
      others.contents.set(taken ?? content, name);
      others.next += 1;
      if (taken !== undefined) continue;
      this.contents.set(name, content);
      return { name, isCopy: false };
    }
  }
}

/** Formats without steps that repeat the patches of runs saved with them. */
const REPEATING: ReadonlySet<string> = new Set(['swe-bench-predictions', 'openhands']);

/** Patches of two models may be equal; empty ones are equal by chance. */
function isSameAgent({ candidate_id, origin: { model }, patch }: SavedRun, { id, origin }: Original): boolean {
  if (candidate_id === id) return true;
  return model === null || origin.model === null ? patch.trim() !== '' : areAlike(model, origin.model);
}

/** Tools write a model with or without its provider, or among the other settings of a run (`a__gpt-4o__t-0.00`). */
function areAlike(model: string, other: string): boolean {
  const [of, ofOther] = [model, other].map((each) => each.split(/\/|__/));
  const last = (name: string): string => name.slice(name.lastIndexOf('/') + 1);
  return ofOther?.includes(last(model)) === true || of?.includes(last(other)) === true;
}

/** Candidate ids of every instance. */
class Names {
  private readonly instances = new Map<string, NamesOfInstance>();

  /** Its own id, a new one if another run has it, or that of the run it is a copy of. */
  nameOf(run: SavedRun): Name {
    const names = this.instances.get(run.instance_id) ?? new NamesOfInstance();
    this.instances.set(run.instance_id, names);
    return names.nameOf(run);
  }
}

function hasSteps({ trajectory }: SavedRun): boolean {
  return (trajectory?.steps.length ?? 0) > 0;
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

/** Every supported format. To add one: a file in this folder, and a line here. */
export const RUN_READERS: readonly RunReader[] = [
  r2eGym,
  sweAgent,
  miniSweAgent,
  openHands,
  atif,
  trajectoryRows,
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
