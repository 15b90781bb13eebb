import { hasEnded } from '../../ports/run-store.js';
import { type RunService } from '../../runs/run-service.js';
import { type OpenedRun, openRun } from './evidence-of-run.js';

/** A page asks for several parts of one run at a time, and comparing asks for two runs. */
const KEPT = 2;

/** Reads runs, and keeps the last ended ones as they were read: they can be deleted or retried, which their time of change tells. */
export class OpenedRuns {
  private readonly kept = new Map<string, OpenedRun>();

  constructor(private readonly runs: Pick<RunService, 'get' | 'overview'>) {}

  /** @throws RunNotFoundError */
  async open(id: string): Promise<OpenedRun> {
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
