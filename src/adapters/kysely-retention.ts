import type { Kysely } from 'kysely';
import { Retention, type Swept } from '../ports/retention.js';
import { hasEnded, RunStatus } from '../ports/run-store.js';
import type { Database } from './kysely-schema.js';
import type { StoreGuard } from './store-guard.js';

const RUNS_AT_ONCE = 20;
const REPORTS_AT_ONCE = 20;
const RESULTS_AT_ONCE = 200;
const ENTRIES_AT_ONCE = 1_000;
const ENDED = RunStatus.options.filter(hasEnded);

/** What belongs to a run goes with it, by its foreign key. */
export class KyselyRetention extends Retention {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
  ) {
    super();
  }

  override async sweep(cutoff: number): Promise<Swept> {
    const { db } = this;
    const old = db.selectFrom('runs').select('id').where('status', 'in', ENDED).where('updated_at', '<', cutoff);
    const made = db.selectFrom('reports').select('id').where('created_at', '<', cutoff);
    const noted = db.selectFrom('audit').select('id').where('at', '<', cutoff);
    const unused = db.selectFrom('results').select('key').where('used_at', '<', cutoff);
    return {
      // Asked again where it deletes: a run may have been taken up again since it was found.
      runs: await this.inPortions(
        db.deleteFrom('runs').where('id', 'in', old.limit(RUNS_AT_ONCE)).where('status', 'in', ENDED),
      ),
      results: await this.inPortions(
        db.deleteFrom('results').where('key', 'in', unused.limit(RESULTS_AT_ONCE)).where('used_at', '<', cutoff),
      ),
      reports: await this.inPortions(db.deleteFrom('reports').where('id', 'in', made.limit(REPORTS_AT_ONCE))),
      audited: await this.inPortions(db.deleteFrom('audit').where('id', 'in', noted.limit(ENTRIES_AT_ONCE))),
    };
  }

  private async inPortions(portion: { executeTakeFirst(): Promise<{ numDeletedRows: bigint }> }): Promise<number> {
    for (let sum = 0; ;) {
      const { numDeletedRows } = await this.guard.run(() => portion.executeTakeFirst());
      if (numDeletedRows === 0n) return sum;
      sum += Number(numDeletedRows);
    }
  }
}
