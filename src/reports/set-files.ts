import { once } from 'node:events';
import { createWriteStream, existsSync, type WriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Entry } from '../../verifiers/hybrid/entry.js';
import type { Labels } from './label-book.js';
import { folderName } from '../io/saved-runs/saved-files.js';
import { type FinishedRun, isOwn, makeFolder, removeEarlier, selectedPrediction, writeRun } from './write-run.js';

/** An instance without a report, with the reason. */
export interface Skipped {
  readonly instance_id: string;
  readonly reason: string;
  /** `bad-input`, `no-candidates`, `not-begun`, or the name of what was unavailable. */
  readonly code: string;
}

export function withoutCandidates(instance_id: string): Skipped {
  return { instance_id, reason: 'has no candidates', code: 'no-candidates' };
}

const NAMES = ['selections', 'predictions', 'candidates', 'scores', 'skipped'] as const;
type Name = (typeof NAMES)[number];

/** Files that the report of a single instance has, too. */
const OF_RUN: readonly Name[] = ['predictions', 'candidates'];

/** Codes of instances without a valid request; others may succeed when the command is repeated. */
const SKIPPED: readonly string[] = ['bad-input', 'no-candidates'];

/** Files of a set of instances: a folder per instance, and combined files. */
export class SetFiles {
  private readonly streams = new Map<Name, WriteStream>();

  private hasRun = false;
  private hasFailed = false;

  /** @param single whether the only instance's report belongs into the folder itself */
  constructor(
    private readonly folder: string,
    private readonly single = false,
  ) {}

  /**
   * Writes a run's report into its instance's folder and appends its lines to the combined files.
   * @returns the number of candidates without a known label, if there are labels
   */
  async add(run: FinishedRun, entries: readonly Entry[], labels: Labels | null): Promise<number> {
    const { instance_id } = run.result.selection;
    const folder = this.single ? this.folder : join(this.folder, folderName(instance_id));
    const candidates = await writeRun(folder, run);
    this.hasRun = true;
    await this.line('selections', run.result.selection);
    await this.line('predictions', selectedPrediction(run.request.preset, run.result));
    for (const { candidate_id, patch } of candidates)
      await this.line('candidates', { instance_id, candidate_id, patch });
    if (labels === null) return 0;
    await this.line('scores', scoresOf(instance_id, entries, labels));
    return entries.filter(({ id }) => (labels.get(id)?.resolved ?? null) === null).length;
  }

  async skip(skipped: Skipped): Promise<void> {
    this.hasFailed ||= !SKIPPED.includes(skipped.code);
    await this.line('skipped', skipped);
  }

  /** Starts new files: results of an earlier, interrupted command are rewritten from the store. */
  async begin(): Promise<void> {
    await makeFolder(this.folder);
    for (const name of NAMES) this.streams.set(name, createWriteStream(this.part(name)));
  }

  /** Renames the files to their final names. */
  async finish(): Promise<void> {
    const wasOwn = isOwn(this.folder);
    const remains = this.hasRun ? this.single : this.hasFailed;
    if (!remains) await removeEarlier(this.folder, 'run');
    for (const [name, stream] of this.streams) {
      stream.end();
      await once(stream, 'finish');
      const file = join(this.folder, `${name}.jsonl`);
      if (existsSync(file) && this.isKept(name, wasOwn)) await rm(this.part(name));
      else await rename(this.part(name), file);
    }
  }

  /** Whether a file stays as it is: it is of the single run, or may be the command's input, and there is nothing new. */
  private isKept(name: Name, wasOwn: boolean): boolean {
    if (!OF_RUN.includes(name)) return false;
    return this.hasRun ? this.single : name === 'candidates' || !wasOwn;
  }

  /** Removes the partial files of a set that was not finished. */
  async discard(): Promise<void> {
    for (const [name, stream] of this.streams) {
      stream.destroy();
      await rm(this.part(name), { force: true });
    }
  }

  private async line(name: Name, value: unknown): Promise<void> {
    const stream = this.streams.get(name);
    if (stream?.write(`${JSON.stringify(value)}\n`) === false) await once(stream, 'drain');
  }

  /** Not the name that a run's report in the same folder uses for its part. */
  private part(name: Name): string {
    return join(this.folder, `set-${name}.jsonl.${process.pid}.part`);
  }
}

/** One line of a score matrix. */
export function scoresOf(instance_id: string, entries: readonly Entry[], labels: Labels): unknown {
  const names = new Set(entries.flatMap(({ measures }) => Object.keys(measures ?? {})));
  const further = (name: string): (number | null)[] => entries.map(({ measures }) => measures?.[name] ?? null);
  const reasons = entries.map(({ id }) => labels.get(id)?.reason ?? null);
  const column = <Key extends keyof Entry>(key: Key): Entry[Key][] => entries.map((entry) => entry[key]);
  return {
    instance_id,
    candidate_ids: column('id'),
    resolved: entries.map(({ id }) => labels.get(id)?.resolved ?? null),
    ...(reasons.every((reason) => reason === null) ? {} : { label_reasons: reasons }),
    execution_free: column('execution_free'),
    regression: column('regression'),
    reproduction: column('reproduction'),
    regression_out_of: column('regression_out_of'),
    reproduction_out_of: column('reproduction_out_of'),
    ...(names.size === 0 ? {} : { measures: Object.fromEntries([...names].map((name) => [name, further(name)])) }),
    solved: entries.map(({ solved }) => solved ?? null),
    patch_size: column('patch_size'),
    fingerprint: column('fingerprint'),
    change: entries.map(({ change }) => change ?? null),
    has_source_change: column('has_source_change'),
    applies: column('applies'),
    finished: column('finished'),
    steps: entries.map(({ steps }) => steps ?? null),
  };
}
