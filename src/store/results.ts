import { Batches, keyText, type StoreGuard } from './statements.js';
import { type Kysely, sql, type Transaction } from 'kysely';
import { InterruptedError } from '../core/errors/errors.js';
import { ResultStore, SpendingStore } from '../ports/result-store.js';
import type { BenchmarkStatus } from '../ports/benchmark-store.js';
import { hasEnded, Retention, RunStatus, type Swept } from '../ports/run-store.js';
import type { Database, ResultsTable, SpendingsTable } from './schema.js';
import type { Amount, PartSpendings } from '../core/budget/budget.js';

const DAY_MS = 24 * 3_600_000;
const KEYS_AT_ONCE = 1_000;

/** Results as rows, in any database supported by Kysely. */
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

  /** @returns undefined if nothing is stored under `key` */
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
/** Benchmarks that can be deleted; one still `accepting` at the cutoff was abandoned by its sender. */
const OVER: readonly BenchmarkStatus[] = ['done', 'failed', 'cancelled', 'accepting'];

/** Rows that belong to a run are deleted with it, by foreign key cascade. */
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
    // Includes queued runs that were never started.
    const theirs = db.selectFrom('runs').select('id').where('benchmark', 'in', over).where('status', '!=', 'running');
    const made = db.selectFrom('reports').select('id').where('created_at', '<', cutoff);
    const noted = db.selectFrom('audit').select('id').where('at', '<', cutoff);
    const unused = db.selectFrom('results').select('key').where('used_at', '<', cutoff);
    return {
      // The status is checked again in the delete, as the run may have been resumed since it was found.
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

/** Part whose row serialises those who ask for room in a run. */
const LOCKED = 'run';
const LOST = 'Another process works on this part of the run by now.';
const EMPTY = { tokens: 0, usd: 0, taken_tokens: 0, taken_usd: 0, begun: 0 };

/** Spending of runs, as rows. Room is taken under a lock on one of the run's rows, so that concurrent requests are serialised. */
export class KyselySpendingStore extends SpendingStore {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
  ) {
    super();
  }

  override of(run_id: string, part: string): PartSpendings {
    const own = { run_id, part, begun: 0 };
    return {
      begin: async () => {
        const { begun, ...before } = await this.begin(run_id, part);
        own.begun = begun;
        return before;
      },
      take: (room, most) =>
        this.write(async (trx) => {
          await trx
            .insertInto('spendings')
            .values({ run_id, part: LOCKED, ...EMPTY })
            .onConflict((conflict) => conflict.columns(['run_id', 'part']).doUpdateSet({ run_id }))
            .execute();
          // Read under the lock, so that it includes what others have just taken.
          const all = await trx.selectFrom('spendings').selectAll().where('run_id', '=', run_id).execute();
          if (all.find((row) => row.part === part)?.begun !== own.begun) throw new InterruptedError(LOST);
          const [spent, taken] = [spentOf(all), takenOf(all)];
          const fits = (unit: keyof Amount): boolean =>
            most[unit] === null || spent[unit] + taken[unit] + room[unit] <= most[unit];
          if (!fits('tokens') || !fits('usd')) return spent;
          await change(trx, own, { tokens: 0, usd: 0, taken_tokens: room.tokens, taken_usd: room.usd });
          return null;
        }),
      settle: (room, spent) => {
        const by = { ...spent, taken_tokens: -room.tokens, taken_usd: -room.usd };
        return this.write((trx) => change(trx, own, by));
      },
    };
  }

  private begin(run_id: string, part: string): Promise<Amount & Pick<SpendingsTable, 'begun'>> {
    const again = { taken_tokens: 0, taken_usd: 0, begun: sql<number>`spendings.begun + 1` };
    const row = this.db
      .insertInto('spendings')
      .values({ run_id, part, ...EMPTY })
      .onConflict((conflict) => conflict.columns(['run_id', 'part']).doUpdateSet(again))
      .returning(['tokens', 'usd', 'begun']);
    return this.guard.run(() => row.executeTakeFirstOrThrow());
  }

  private write<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    return this.guard.run(() => this.db.transaction().execute(work));
  }
}

type Counts = Omit<SpendingsTable, 'run_id' | 'part' | 'begun'>;

/** What was reserved by a process that lost its part was released when the next one began it. */
async function change(
  trx: Transaction<Database>,
  { run_id, part, begun }: Pick<SpendingsTable, 'run_id' | 'part' | 'begun'>,
  by: Counts,
): Promise<void> {
  await trx
    .updateTable('spendings')
    .set({
      tokens: sql<number>`tokens + ${by.tokens}`,
      usd: sql<number>`usd + ${by.usd}`,
      taken_tokens: sql<number>`case when begun = ${begun} then taken_tokens + ${by.taken_tokens} else taken_tokens end`,
      taken_usd: sql<number>`case when begun = ${begun} then taken_usd + ${by.taken_usd} else taken_usd end`,
    })
    .where('run_id', '=', run_id)
    .where('part', '=', part)
    .execute();
}

function spentOf(rows: readonly SpendingsTable[]): Amount {
  return sum(rows.map(({ tokens, usd }) => ({ tokens, usd })));
}

function takenOf(rows: readonly SpendingsTable[]): Amount {
  return sum(rows.map(({ taken_tokens, taken_usd }) => ({ tokens: taken_tokens, usd: taken_usd })));
}

function sum(amounts: readonly Amount[]): Amount {
  return amounts.reduce((all, { tokens, usd }) => ({ tokens: all.tokens + tokens, usd: all.usd + usd }), {
    tokens: 0,
    usd: 0,
  });
}
