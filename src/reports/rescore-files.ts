import { rename, rm, writeFile, appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Entry } from '../../verifiers/hybrid/entry.js';
import { writeRun, type FinishedRun } from './write-run.js';

/** What was not rescored, and why. */
export interface Skipped {
  readonly instance_id: string;
  readonly reason: string;
}

/** The files of a rescoring: a folder an instance, and what they come to together. */
export class RescoreFiles {
  constructor(private readonly folder: string) {}

  /** A run's report in its instance's folder, and its lines in the common files. */
  async add(run: FinishedRun, entries: readonly Entry[], labels: ReadonlyMap<string, boolean> | null): Promise<void> {
    const { instance_id, candidate_id } = run.result.selection;
    await writeRun(join(this.folder, 'instances', folderName(instance_id)), run);
    await this.line('selections', run.result.selection);
    const model_name_or_path = `bestk-${run.request.preset}`;
    await this.line('predictions', {
      instance_id,
      model_name_or_path,
      model_patch: run.result.patch ?? '',
      candidate_id,
    });
    if (labels !== null) await this.line('scores', scoresOf(instance_id, entries, labels));
  }

  /** Begins anew: what an earlier, interrupted rescoring left is made again from stored results. */
  async begin(): Promise<void> {
    for (const name of ['selections', 'predictions', 'scores', 'skipped']) await rm(this.part(name), { force: true });
  }

  /** Gives the files their names. @returns whether there are scores with labels */
  async finish(skipped: readonly Skipped[]): Promise<void> {
    await writeFile(this.part('skipped'), skipped.map((row) => `${JSON.stringify(row)}\n`).join(''));
    for (const name of ['selections', 'predictions', 'scores', 'skipped']) {
      await rename(this.part(name), this.path(name)).catch(() => undefined);
    }
  }

  path(name: string): string {
    return join(this.folder, `${name}.jsonl`);
  }

  private async line(name: string, value: unknown): Promise<void> {
    await appendFile(this.part(name), `${JSON.stringify(value)}\n`);
  }

  private part(name: string): string {
    return `${this.path(name)}.part`;
  }
}

/** One line of a score matrix. */
export function scoresOf(
  instance_id: string,
  entries: readonly Entry[],
  labels: ReadonlyMap<string, boolean>,
): unknown {
  const names = new Set(entries.flatMap(({ measures }) => Object.keys(measures ?? {})));
  const further = (name: string): (number | null)[] => entries.map(({ measures }) => measures?.[name] ?? null);
  const column = <Key extends keyof Entry>(key: Key): Entry[Key][] => entries.map((entry) => entry[key]);
  return {
    instance_id,
    candidate_ids: column('id'),
    resolved: entries.map(({ id }) => labels.get(id) ?? null),
    execution_free: column('execution_free'),
    regression: column('regression'),
    reproduction: column('reproduction'),
    regression_out_of: column('regression_out_of'),
    reproduction_out_of: column('reproduction_out_of'),
    ...(names.size === 0 ? {} : { measures: Object.fromEntries([...names].map((name) => [name, further(name)])) }),
    solved: entries.map(({ solved }) => solved ?? null),
    patch_size: column('patch_size'),
    fingerprint: column('fingerprint'),
    has_source_change: column('has_source_change'),
    applies: column('applies'),
    finished: column('finished'),
    steps: entries.map(({ steps }) => steps ?? null),
  };
}

/** Ids may hold anything; a folder's name may not. */
function folderName(instanceId: string): string {
  return instanceId
    .replace(/[^\w.@-]+/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, 150);
}
