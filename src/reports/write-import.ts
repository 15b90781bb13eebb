import { once } from 'node:events';
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BadInputError } from '../core/errors/errors.js';
import { rawLines } from '../io/records/records.js';
import { type Imported, importRuns } from '../io/saved-runs/import-runs.js';
import type { Damage } from '../io/saved-runs/saved-records.js';
import { type UnreadNote, unreadNoteText } from '../io/saved-runs/unread-columns.js';
import { LOCAL_BOUNDS, type SavedIssue, type SavedRun, type Sealed } from '../io/saved-runs/saved-run.js';
import { visibleLine } from '../core/hostile-text.js';
import { ImportLabels } from './labels.js';
import { table } from './selection-table.js';
import { prepareFolder } from './write-run.js';

/** Counts of what an import read. */
export interface ImportSummary {
  readonly candidates: number;
  readonly instances: number;
  readonly by_format: Readonly<Record<string, FormatSummary>>;
  /** Candidates with a known label. */
  readonly labelled: number;
  readonly resolved: number;
  /** Candidates whose label is stated to be unknown. */
  readonly unknown_labels: number;
  /** Candidates with both; the known label is used. */
  readonly unknown_beside_known: number;
  /** Columns that were not read of rows with candidates. */
  readonly unread: readonly UnreadNote[];
  /** Labels that contradict each other: which of them count, or why none does. */
  readonly contradictions: readonly string[];
  readonly duplicates: number;
  /** Candidates renamed because another rollout had the same id. */
  readonly renamed: number;
  readonly rejected: number;
}

export interface FormatSummary {
  readonly candidates: number;
  readonly with_patch: number;
  readonly with_trajectory: number;
  readonly steps: number;
}

const NAMES = ['candidates', 'trajectories', 'issues', 'tests', 'labels', 'rejected'] as const;
/** With what is sealed of labels whose candidates are not known yet. */
const ALL = [...NAMES, 'apart'] as const;

/** `at`: line of what is sealed in the file `apart`. */
type KeptLabel = Sealed & { readonly at: number };

/**
 * Imports saved runs into a folder: `candidates.jsonl`, `trajectories.jsonl`, `issues.jsonl`, `tests.jsonl`,
 * `rejected.jsonl`, and `labels.jsonl`, which holds all outcome data, sealed from the rest. Works record by record; files are
 * renamed at the end.
 * @throws BadInputError for a path that does not exist, and if more records are rejected than the bound allows
 */
export async function writeImport(
  paths: readonly string[],
  folder: string,
  bounds = LOCAL_BOUNDS,
): Promise<ImportSummary> {
  await prepareFolder(folder);
  const writer = new ImportWriter(folder, bounds.rejects);
  try {
    for await (const found of importRuns(paths, bounds)) await writer.take(found);
    return await writer.finish();
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

class ImportWriter {
  private readonly files: Readonly<Record<(typeof ALL)[number], WriteStream>>;
  private readonly labels = new ImportLabels<KeptLabel>();
  private apart = 0;
  private readonly formats = new Map<
    string,
    { candidates: number; with_patch: number; with_trajectory: number; steps: number }
  >();
  /** By instance: whether the issue's text is known. */
  private readonly issues = new Map<string, boolean>();
  private readonly labelled = new Map<string, boolean>();
  /** Stated unknown labels by candidate; null = already written, with what is sealed. */
  private readonly unknown = new Map<string, Sealed | null>();
  private readonly unread: UnreadNote[] = [];
  private readonly counts = { duplicates: 0, renamed: 0, rejected: 0 };

  constructor(
    private readonly folder: string,
    private readonly mostRejects: number,
  ) {
    const open = (name: string): WriteStream => createWriteStream(this.unfinished(name));
    this.files = {
      candidates: open('candidates'),
      trajectories: open('trajectories'),
      issues: open('issues'),
      tests: open('tests'),
      labels: open('labels'),
      rejected: open('rejected'),
      apart: open('apart'),
    };
  }

  async take(found: Imported): Promise<void> {
    switch (found.kind) {
      case 'run':
        return this.candidate(found.run);
      case 'renamed':
        this.counts.renamed += 1;
        return this.candidate(found.run, found.from);
      case 'duplicate':
        this.counts.duplicates += 1;
        this.labels.copy(found.run, found.from);
        return;
      case 'rejected':
        return this.reject(found.damage);
      case 'issue':
        return this.issue(found.issue);
      case 'unread':
        this.unread.push(found.note);
        return;
      case 'test':
        return this.write('tests', found.test);
      case 'sealed': {
        const kept = { ...found.row, sealed: [], at: this.apart };
        if (this.labels.keep(kept, found.file, found.line) !== null) return this.label(found.row);
        this.apart += 1;
        return this.write('apart', found.row.sealed);
      }
    }
  }

  async finish(): Promise<ImportSummary> {
    const { rows, homeless, contradictions } = this.labels.settle();
    await this.keptLabels(rows);
    const beside = [...this.unknown.keys()].filter((key) => this.labelled.has(key)).length;
    for (const [key, row] of this.unknown) if (row !== null && !this.labelled.has(key)) await this.write('labels', row);
    for (const { file, reason } of [...homeless, ...contradictions])
      await this.reject({ file, line: null, byte: null, reason });
    for (const name of NAMES) {
      this.files[name].end();
      await once(this.files[name], 'finish');
    }
    await rm(this.unfinished('apart'));
    for (const name of NAMES) await rename(this.unfinished(name), join(this.folder, `${name}.jsonl`));
    const formats = [...this.formats.values()];
    return {
      candidates: formats.reduce((sum, { candidates }) => sum + candidates, 0),
      instances: this.issues.size,
      by_format: Object.fromEntries(this.formats),
      labelled: this.labelled.size,
      resolved: [...this.labelled.values()].filter(Boolean).length,
      unknown_labels: this.unknown.size - beside,
      unknown_beside_known: beside,
      unread: this.unread,
      contradictions: contradictions.map(({ file, reason }) => `${file}: ${reason}`),
      ...this.counts,
    };
  }

  async discard(): Promise<void> {
    // Pending writes fail; their errors are ignored.
    for (const stream of Object.values(this.files)) stream.on('error', () => undefined).destroy();
    for (const name of ALL) await rm(this.unfinished(name), { force: true });
  }

  private async candidate(run: SavedRun, from?: string): Promise<void> {
    const { instance_id, candidate_id, problem_statement, patch, trajectory, origin } = run;
    this.labels.candidate(run, from);
    this.count(run);
    await this.write('candidates', { instance_id, candidate_id, patch, origin });
    if (trajectory !== null) await this.write('trajectories', { instance_id, candidate_id, trajectory });
    if (problem_statement !== null) await this.issue({ ...run, problem_statement });
    else if (!this.issues.has(instance_id)) this.issues.set(instance_id, false);
  }

  private async issue({ instance_id, problem_statement, image, environment }: SavedIssue): Promise<void> {
    if (this.issues.get(instance_id) === true) return;
    this.issues.set(instance_id, true);
    await this.write('issues', { instance_id, problem_statement, image, environment });
  }

  private count({ origin, patch, trajectory }: SavedRun): void {
    const format = this.formats.get(origin.format) ?? { candidates: 0, with_patch: 0, with_trajectory: 0, steps: 0 };
    const steps = trajectory?.steps.length ?? 0;
    format.candidates += 1;
    format.with_patch += Number(patch.trim() !== '');
    format.with_trajectory += Number(steps > 0);
    format.steps += steps;
    this.formats.set(origin.format, format);
  }

  /** @param rows in the order in which they were kept */
  private async keptLabels(rows: readonly KeptLabel[]): Promise<void> {
    this.files.apart.end();
    await once(this.files.apart, 'finish');
    let [line, next] = [0, 0];
    for await (const { bytes } of rawLines(createReadStream(this.unfinished('apart')), Infinity)) {
      const sealed = JSON.parse(String(bytes)) as Sealed['sealed'];
      for (let row = rows[next]; row?.at === line; row = rows[next]) {
        const label = { ...row, at: undefined, file: undefined, sealed };
        await this.label(label);
        next += 1;
      }
      line += 1;
    }
  }

  private async label(row: Sealed): Promise<void> {
    const key = JSON.stringify([row.instance_id, row.candidate_id]);
    const isSealed = row.sealed.length > 0;
    if (row.resolved !== null) this.labelled.set(key, row.resolved);
    else if (row.reason !== undefined || !isSealed) {
      // An unknown label is written at the end, if no known one replaces it.
      if (!this.unknown.has(key)) this.unknown.set(key, isSealed ? null : row);
      if (!isSealed) return;
    }
    await this.write('labels', row);
  }

  private async reject(damage: Damage): Promise<void> {
    this.counts.rejected += 1;
    if (this.counts.rejected > this.mostRejects) {
      const { line, reason } = damage;
      throw new BadInputError(`has more than ${this.mostRejects} unreadable records; the last: ${reason}`, {
        ...(line === null ? {} : { line }),
      });
    }
    await this.write('rejected', damage);
  }

  /** Waits while the stream's buffer is full. */
  private async write(name: (typeof ALL)[number], value: unknown): Promise<void> {
    const stream = this.files[name];
    if (!stream.write(`${JSON.stringify(value)}\n`)) await once(stream, 'drain');
  }

  private unfinished(name: string): string {
    return join(this.folder, `${name}.jsonl.${process.pid}.part`);
  }
}

/** Human-readable output of `bestk import`. */
export function importSummary(summary: ImportSummary, folder: string): string {
  const { candidates, instances, by_format, duplicates, renamed, rejected, unread, contradictions } = summary;
  const { labelled, resolved, unknown_labels: unknown, unknown_beside_known: beside } = summary;
  const rows = Object.entries(by_format).map(([format, found]) =>
    [format, found.candidates, found.with_patch, found.with_trajectory, found.steps].map(String),
  );
  const header = ['format', 'candidates', 'with patch', 'with trajectory', 'steps'];
  const notes = [
    ...first(unread.map(unreadNoteText), 'files or sets of columns'),
    ...first(contradictions.map(visibleLine), 'contradictions'),
    beside === 0 ? '' : `${beside} candidates have a known and an unknown label; the known one is used`,
    duplicates === 0 ? '' : `${duplicates} duplicates skipped`,
    renamed === 0 ? '' : `${renamed} renamed because of duplicate ids`,
    rejected === 0 ? '' : `${rejected} records rejected: see ${folder}/rejected.jsonl`,
  ].filter((note) => note !== '');
  const unlabelled = unknown === 0 ? '' : `, ${unknown} with an unknown one (null)`;
  return [
    table([header, ...rows]),
    '',
    `${candidates} candidates of ${instances} instances; ${labelled} with a label (${resolved} resolved)${unlabelled}, sealed in ${folder}/labels.jsonl`,
    ...notes,
  ].join('\n');
}

const MOST_NOTES = 10;

/** The first few notes; `--json` has all. */
function first(notes: readonly string[], of: string): readonly string[] {
  const more = notes.length - MOST_NOTES;
  return more > 0 ? [...notes.slice(0, MOST_NOTES), `and ${more} more ${of}: --json lists them`] : notes;
}
