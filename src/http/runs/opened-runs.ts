import { type RunService } from '../../runs/run-service.js';
import { type OpenedRun, openRun } from './evidence-of-run.js';

/** A page asks for several parts of one run at a time, and comparing asks for two runs. */
const KEPT = 2;
const AFTER_EVERYTHING = Number.MAX_SAFE_INTEGER;

/** Reads runs, and keeps the last finished ones as they were read: they can be deleted, but change no more. */
export class OpenedRuns {
  private readonly kept = new Map<string, OpenedRun>();

  constructor(private readonly runs: Pick<RunService, 'get' | 'isOver'>) {}

  /** @throws RunNotFoundError */
  async open(id: string): Promise<OpenedRun> {
    const known = this.kept.get(id);
    this.kept.delete(id);
    if (known !== undefined && (await this.runs.isOver(id, AFTER_EVERYTHING))) return this.keep(id, known);
    const opened = openRun(await this.runs.get(id));
    return opened.run.status === 'done' ? this.keep(id, opened) : opened;
  }

  private keep(id: string, opened: OpenedRun): OpenedRun {
    this.kept.set(id, opened);
    for (const oldest of [...this.kept.keys()].slice(0, -KEPT)) this.kept.delete(oldest);
    return opened;
  }
}
