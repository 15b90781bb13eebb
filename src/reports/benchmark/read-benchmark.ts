import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { withCombiner } from '../../../verifiers/hybrid/features.js';
import { requestedRule } from '../../../verifiers/hybrid/presets.js';
import { decide } from '../../../verifiers/hybrid/select.js';
import { BadInputError } from '../../core/errors/errors.js';
import { repositoryOf } from '../../core/run/issue.js';
import { readScoreMatrix } from '../../io/inputs/score-matrix.js';
import { parseRecord, readRecords } from '../../io/records/records.js';
import { importRuns } from '../../io/saved-runs/import-runs.js';
import { keepEntries, type ScoredIssue, splitByLabel } from '../../statistics/curves/scored-issue.js';
import {
  LabelBook,
  LabelLine,
  type LabelsByInstance,
  NO_LABEL,
  type OnLabelNote,
  readAllLabels,
} from '../label-book.js';
import { type FiledLabel, type Homeless, ImportLabels } from '../labels.js';
import { runsOfSet } from '../../io/saved-runs/saved-files.js';
import { modelName } from '../write-run.js';
import type { Benchmarked } from './make-benchmark.js';
import { poolOf, readReportedRun, type ReportedRun } from './reported-run.js';

/**
 * Reads a score matrix.
 * @throws BadInputError naming file, line and field
 */
export async function benchmarkOfMatrix(file: string, title: string): Promise<Benchmarked> {
  const issues: ScoredIssue[] = [];
  for await (const issue of readScoreMatrix(file)) issues.push(issue);
  return { title, issues, unlabelled: 0, runs: [], unfinished: [] };
}

/**
 * Finished runs with their candidates' labels. An unfinished run is left out and named, unless all are unfinished.
 * @throws BadInputError naming the file; also if two runs are of the same instance
 */
export async function benchmarkOfRuns(
  folders: readonly string[],
  labelFiles: readonly string[],
  title: string,
  onNote: OnLabelNote = () => undefined,
): Promise<Benchmarked> {
  const all = await runFolders(folders);
  // The last-written of the files that a report reads.
  const ended = all.filter((folder) => existsSync(join(folder, 'verdicts.jsonl')));
  const runs = readAll(ended.length === 0 ? all : ended);
  const unfinished = all.filter((folder) => !ended.includes(folder));
  return { ...benchmarkOf(runs, await runLabels(labelFiles, runs, onNote), title), unfinished };
}

/**
 * The same for runs already read.
 * @throws BadInputError if two are of the same instance
 */
export function benchmarkOf(given: readonly ReportedRun[], labels: LabelsByInstance, title: string): Benchmarked {
  const runs = sorted(given);
  const issues = runs.flatMap((run) => scored(run, labels) ?? []);
  return { title, issues, unlabelled: runs.length - issues.length, runs, unfinished: [] };
}

/**
 * Reads the folders of finished runs.
 * @throws BadInputError naming a missing or damaged file
 */
export function readAll(folders: readonly string[]): ReportedRun[] {
  return folders.map(readReportedRun);
}

function sorted(runs: readonly ReportedRun[]): readonly ReportedRun[] {
  const byInstance = new Map<string, ReportedRun>();
  for (const run of runs) {
    const { instance_id } = run.request.issue;
    const twin = byInstance.get(instance_id);
    if (twin !== undefined) {
      const next = 'Report on one of them, or compare two runs of the same issues with --against.';
      throw new BadInputError(`is of "${instance_id}", and so is ${twin.folder}.`, { file: run.folder }, next);
    }
    byInstance.set(instance_id, run);
  }
  return [...byInstance.values()].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

function idOf({ request }: ReportedRun): string {
  return request.issue.instance_id;
}

/** Null if there is no label of its instance, not even an unknown one. */
function scored(run: ReportedRun, labels: LabelsByInstance): ScoredIssue | null {
  const { request, authors, usage, measures } = run;
  const { instance_id } = request.issue;
  const own = labels.get(instance_id);
  if (own === undefined) return null;
  const entries = request.combiner === null ? run.entries : withCombiner(run.entries, request.combiner);
  const cost = usage.cost_usd === null ? null : usage.cost_usd / Math.max(1, entries.length);
  const known = splitByLabel(
    entries.map((entry) => {
      const { resolved, reason } = own.get(entry.id) ?? NO_LABEL;
      return { entry, resolved, reason, cost, axes: {} };
    }),
  );
  keepEntries(known.candidates, entries);
  return { instanceId: instance_id, repo: repositoryOf(instance_id) ?? instance_id, authors, measures, ...known };
}

/** How many levels of folders below a named one are searched. */
const DEEPEST = 4;

/**
 * Folders of finished runs in and below the named ones, sorted by path; of a set, those in its `selections.jsonl`.
 * @throws BadInputError for a folder that does not exist or holds no run
 */
async function runFolders(roots: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const root of roots) {
    const here = await below(root, DEEPEST);
    if (here.length === 0) {
      const next = 'Name the --out of select, solve or rescore, or a folder of such folders.';
      throw new BadInputError('has no run.json.', { file: root, field: '--run' }, next);
    }
    found.push(...here);
  }
  return [...new Set(found)].sort();
}

async function below(folder: string, depth: number): Promise<readonly string[]> {
  if (existsSync(join(folder, 'run.json'))) return [folder];
  if (existsSync(join(folder, 'selections.jsonl'))) return runsOfSet(folder);
  if (depth === 0) return [];
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new BadInputError(`cannot be read: ${(error as Error).message}`, { file: folder, field: '--run' });
  });
  const inner = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  return (await Promise.all(inner.map((each) => below(each, depth - 1)))).flat();
}

/**
 * Labels of the runs' candidates, from files in any format with outcomes: labels.jsonl, SWE-bench reports, rewards.
 * @throws BadInputError for a path that does not exist or holds something else, or if no label matches these runs
 */
async function runLabels(
  paths: readonly string[],
  runs: readonly ReportedRun[],
  onNote: OnLabelNote,
): Promise<LabelsByInstance> {
  if (paths.length === 0) return new Map();
  const { labels } = await labelsIn(paths, () => candidatesOf(runs), onNote);
  const isLabelled = (run: ReportedRun): boolean => run.entries.some(({ id }) => labels.get(idOf(run))?.has(id));
  const ofRuns = new Map(runs.filter(isLabelled).map((run) => [idOf(run), labels.get(idOf(run)) ?? new Map()]));
  if (ofRuns.size > 0) return ofRuns;
  throw noLabels(paths, runs);
}

/** The candidates of runs, for labels that do not name theirs. */
async function candidatesOf(runs: readonly ReportedRun[]): Promise<ImportLabels> {
  const candidates = new ImportLabels();
  for (const run of runs) {
    const at = { instance_id: idOf(run), origin: { file: join(run.folder, 'run.json') } };
    const patches = await patchesOf(run);
    for (const { id } of run.entries) candidates.candidate({ ...at, candidate_id: id, patch: patches.get(id) });
    const { candidate_id } = decide(poolOf(run), requestedRule(run.request));
    candidates.returns(at.instance_id, { candidate_id, model: modelName(run.request.preset) });
  }
  return candidates;
}

const Patch = z.object({ candidate_id: z.string(), patch: z.string() });

/** Empty without the run's candidates.jsonl, which a report does not need. */
async function patchesOf({ folder, entries }: ReportedRun): Promise<ReadonlyMap<string, string>> {
  const file = join(folder, 'candidates.jsonl');
  const patches = new Map<string, string>();
  if (entries.length === 0 || !existsSync(file)) return patches;
  for await (const record of readRecords(file)) {
    const { candidate_id, patch } = parseRecord(Patch, record);
    patches.set(candidate_id, patch);
  }
  return patches;
}

function noLabels(paths: readonly string[], [run]: readonly ReportedRun[]): BadInputError {
  const id = run?.entries[0]?.id;
  const such = run === undefined || id === undefined ? '' : `, such as "${id}" of ${run.request.issue.instance_id}`;
  const verb = paths.length === 1 ? 'holds' : 'hold';
  return new BadInputError(`${verb} no label of any candidate of these runs${such}.`, {
    file: paths.join(', '),
    field: '--labels',
  });
}

interface FoundLabels {
  readonly labels: LabelsByInstance;
  readonly homeless: readonly Homeless[];
}

/** @throws BadInputError, also if two of these labels contradict each other */
async function labelsIn(
  paths: readonly string[],
  candidatesOf: () => ImportLabels | Promise<ImportLabels>,
  onNote: OnLabelNote,
): Promise<FoundLabels> {
  const book = new LabelBook();
  const others: string[] = [];
  for (const path of paths)
    if (await isPlain(path)) await readAllLabels(path, book);
    else others.push(path);
  const homeless = others.length === 0 ? [] : await importLabels(others, await candidatesOf(), book, onNote);
  for (const note of book.notes()) onNote(note);
  return { labels: book.byInstance, homeless };
}

/** @returns labels of other candidates */
async function importLabels(
  paths: readonly string[],
  candidates: ImportLabels,
  book: LabelBook,
  onNote: OnLabelNote,
): Promise<readonly Homeless[]> {
  const rows: FiledLabel[] = [];
  for await (const each of importRuns(paths)) {
    if (each.kind === 'rejected') {
      const { file, line, reason } = each.damage;
      throw new BadInputError(`${reason}.`, { file, ...(line === null ? {} : { line }) });
    }
    if (each.kind !== 'sealed') continue;
    const kept = candidates.keep({ ...each.row, sealed: [] }, each.file, each.line);
    if (kept !== null) rows.push(kept);
  }
  const settled = candidates.settle();
  for (const row of [...rows, ...settled.rows]) addLabel(book, row);
  for (const { file, reason } of settled.contradictions) onNote(`${file}: ${reason}`);
  return settled.homeless;
}

/** Rows that only hold what is sealed are no labels. */
function addLabel(book: LabelBook, { instance_id, candidate_id, resolved, reason, file }: FiledLabel): void {
  if (candidate_id === null || (resolved === null && reason === undefined)) return;
  book.add({ instance_id, candidate_id, resolved, reason: reason ?? null }, { file, field: 'resolved' });
}

/** Whether it is a labels.jsonl, which is read without the import's format detection. */
async function isPlain(path: string): Promise<boolean> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory()) return false;
  // A pipe can be read only once.
  return !found.isFile() || found.size === 0 || beginsWithLabel(path);
}

async function beginsWithLabel(path: string): Promise<boolean> {
  try {
    for await (const { value } of readRecords(path)) return LabelLine.safeParse(value).success;
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
  }
  return false;
}

/**
 * Labels in a file of any format with outcomes, or a folder of such files; a labels.jsonl is read in full.
 * @param candidates asked for if the labels may not name theirs
 * @throws BadInputError, also if another format has no label of these candidates
 */
export async function readLabels(
  path: string,
  candidates: () => ImportLabels | Promise<ImportLabels>,
  onNote: OnLabelNote = () => undefined,
): Promise<LabelsByInstance> {
  const { labels, homeless } = await labelsIn([path], candidates, onNote);
  if (labels.size > 0 || (await isPlain(path))) return labels;
  const why = homeless[0] === undefined ? '' : `: ${homeless[0].reason}`;
  throw new BadInputError(
    `has no label of these candidates${why}.`,
    { file: path, field: '--labels' },
    'Name labels of these candidates; those sampled by solve are labelled by grade, and shown by report --labels.',
  );
}
