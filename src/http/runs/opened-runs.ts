import { ServiceUnavailableException, StreamableFile } from '@nestjs/common';
import { hasEnded } from '../../ports/run-store.js';
import type { RunService } from '../../runs/run-service.js';
import { evidenceOf, type OpenedRun, openRun } from './evidence-of-run.js';
import { judgedIn } from './judge-prompt-view.js';
import { candidateView, selectedPatch } from './run-views.js';
import { candidateIn, cellsOf, type CellsQuery, type CellsView, stepsOf, testIn } from './step-views.js';

/** A page asks for several parts of one run at a time, and comparing asks for two runs. */
const KEPT = 2;
/** Bytes of a run that is read in some hundredths of a second, whatever is in it. */
const READ_HERE = 1024 * 1024;
/** Larger runs are read one at a time. */
const MOST_WAITING = 32;
const TOO_MANY = new ServiceUnavailableException('Too many large runs are being read; ask again in a moment.');

/** What can be asked of a run, as it is answered. */
const PARTS = {
  selected: selectedPatch,
  evidence: evidenceOf,
  cells: ({ result }: OpenedRun, query: CellsQuery): CellsView => ({ cells: [...cellsOf(result?.cells ?? [], query)] }),
  test: testIn,
  candidate: candidateView,
  steps: stepsOf,
  patch: (opened: OpenedRun, candidateId: string): string => candidateIn(opened, candidateId).patch,
  judged: judgedIn,
};
type Parts = typeof PARTS;
type Asked<Name extends keyof Parts> = Parameters<Parts[Name]> extends [OpenedRun, ...infer Asked] ? Asked : never;
type Part<Name extends keyof Parts> = ReturnType<Parts[Name]>;

/** A part of a run that is asked for; plain data. */
export interface PartJob {
  readonly id: string;
  readonly name: keyof Parts;
  readonly asked: readonly unknown[];
}

/** @throws what the part does, RunNotFoundError, RunConflictError */
export function partOf(opened: OpenedRun, { name, asked }: Pick<PartJob, 'name' | 'asked'>): unknown {
  return (PARTS[name] as (opened: OpenedRun, ...asked: readonly unknown[]) => unknown)(opened, ...asked);
}

/** Reads parts of large runs where that keeps nobody waiting. Bound in the composition root. */
export abstract class LargeRuns {
  /** @returns text as it is, anything else as JSON @throws what the part does */
  abstract read(job: PartJob): Promise<Uint8Array>;
}

/** Reads runs, and keeps the last ended ones as they were read: they can be deleted or retried, which their time of change tells. */
export class OpenedRuns {
  private readonly kept = new Map<string, OpenedRun>();
  private waiting = 0;

  constructor(
    private readonly runs: Pick<RunService, 'get' | 'overview' | 'size'>,
    private readonly large: LargeRuns,
  ) {}

  /** A part of a run, or of a large one the bytes that are answered. @throws RunNotFoundError, and what the part does */
  async part<Name extends keyof Parts>(
    id: string,
    name: Name,
    ...asked: Asked<Name>
  ): Promise<Part<Name> | StreamableFile> {
    const bytes = await this.readElsewhere({ id, name, asked });
    if (bytes === null) return partOf(await this.open(id), { name, asked }) as Part<Name>;
    const type = name === 'selected' || name === 'patch' ? 'text/x-diff' : 'application/json';
    return new StreamableFile(bytes, { type: `${type}; charset=utf-8`, length: bytes.length });
  }

  /** The same for who goes on with it. */
  async value<Name extends keyof Parts>(id: string, name: Name, ...asked: Asked<Name>): Promise<Part<Name>> {
    const bytes = await this.readElsewhere({ id, name, asked });
    if (bytes !== null) return JSON.parse(Buffer.from(bytes).toString()) as Part<Name>;
    return partOf(await this.open(id), { name, asked }) as Part<Name>;
  }

  /** @returns null for a run that is small enough to be read here */
  private async readElsewhere(job: PartJob): Promise<Uint8Array | null> {
    if ((await this.runs.size(job.id)) <= READ_HERE) return null;
    if (this.waiting >= MOST_WAITING) throw TOO_MANY;
    this.waiting += 1;
    return this.large.read(job).finally(() => (this.waiting -= 1));
  }

  /** @throws RunNotFoundError */
  private async open(id: string): Promise<OpenedRun> {
    const known = this.kept.get(id);
    this.kept.delete(id);
    if (known !== undefined && (await this.runs.overview(id)).updated_at === known.run.updated_at) {
      return this.keep(id, known);
    }
    const opened = openRun(await this.runs.get(id));
    return hasEnded(opened.run.status) ? this.keep(id, opened) : opened;
  }

  private keep(id: string, opened: OpenedRun): OpenedRun {
    this.kept.set(id, opened);
    for (const oldest of [...this.kept.keys()].slice(0, -KEPT)) this.kept.delete(oldest);
    return opened;
  }
}
