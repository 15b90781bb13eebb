import type { Kysely } from 'kysely';
import { ResultStore } from '../ports/result-store.js';
import type { BenchmarkStatus } from '../ports/benchmark-store.js';
import { hasEnded, Retention, RunStatus, type Swept } from '../ports/run-store.js';
import { keyText } from './run-rows.js';
import { Batches } from './batches.js';
import type { Database, ResultsTable } from './schema.js';
import type { StoreGuard } from './store-guard.js';

const DAY_MS = 24 * 3_600_000;
const KEYS_AT_ONCE = 1_000;

/** Results as rows, in any database Kysely speaks to. */
export class KyselyResultStore extends ResultStore {
  private readonly puts = new Batches<ResultsTable, unknown>(
    (rows) => this.putAll(rows),
    ({ value }) => value.length,
  );

  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
  ) {
    super();
  }

  /** @returns undefined when nothing is stored under `key` */
  override async get(key: string): Promise<unknown> {
    const named = this.db.selectFrom('results').select(['value', 'used_at']).where('key', '=', keyText(key));
    const row = await this.guard.run(() => named.executeTakeFirst());
    if (row === undefined) return undefined;
    const now = Date.now();
    if (row.used_at < now - DAY_MS) await this.markUsed(key, now);
    return JSON.parse(row.value);
  }

  override async getAll(keys: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const found = new Map<string, unknown>();
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
      const some = keys.slice(from, from + KEYS_AT_ONCE);
      const named = this.db.selectFrom('results').select(['key', 'value']).where('key', 'in', some.map(keyText));
      const values = new Map((await this.guard.run(() => named.execute())).map(({ key, value }) => [key, value]));
      for (const key of some) {
        const value = values.get(keyText(key));
        if (value !== undefined) found.set(key, JSON.parse(value));
      }
    }
    return found;
  }

  override async put(key: string, kind: string, value: unknown): Promise<void> {
    const now = Date.now();
    await this.puts.do('', { key: keyText(key), kind, value: JSON.stringify(value), created_at: now, used_at: now });
  }

  private async putAll(rows: readonly ResultsTable[]): Promise<readonly []> {
    await this.guard.run(() =>
      this.db
        .insertInto('results')
        .values(rows)
        .onConflict((conflict) => conflict.column('key').doNothing())
        .execute(),
    );
    return [];
  }

  private async markUsed(key: string, now: number): Promise<void> {
    const row = this.db.updateTable('results').set({ used_at: now }).where('key', '=', keyText(key));
    await this.guard.run(() => row.execute());
  }
}

const RUNS_AT_ONCE = 20;
const REPORTS_AT_ONCE = 20;
const RESULTS_AT_ONCE = 200;
const ENTRIES_AT_ONCE = 1_000;
const ENDED = RunStatus.options.filter(hasEnded);
/** One that is still read after so long was left by who sent it in. */
const OVER: readonly BenchmarkStatus[] = ['done', 'failed', 'cancelled', 'accepting'];

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
    const alone = old.where('benchmark', 'is', null);
    const over = db.selectFrom('benchmarks').select('id').where('status', 'in', OVER).where('updated_at', '<', cutoff);
    // Also those that it never came to.
    const theirs = db.selectFrom('runs').select('id').where('benchmark', 'in', over).where('status', '!=', 'running');
    const made = db.selectFrom('reports').select('id').where('created_at', '<', cutoff);
    const noted = db.selectFrom('audit').select('id').where('at', '<', cutoff);
    const unused = db.selectFrom('results').select('key').where('used_at', '<', cutoff);
    return {
      // Asked again where it deletes: a run may have been taken up again since it was found.
      runs: await this.inPortions(
        db.deleteFrom('runs').where('id', 'in', alone.limit(RUNS_AT_ONCE)).where('status', 'in', ENDED),
      ),
      benchmark_runs: await this.inPortions(db.deleteFrom('runs').where('id', 'in', theirs.limit(RUNS_AT_ONCE))),
      benchmarks: await this.inPortions(
        db
          .deleteFrom('benchmarks')
          .where('id', 'in', over)
          .where((eb) =>
            eb.not(eb.exists(eb.selectFrom('runs').select('runs.id').whereRef('runs.benchmark', '=', 'benchmarks.id'))),
          ),
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
