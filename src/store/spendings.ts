import { type Kysely, sql, type Transaction } from 'kysely';
import type { Amount, PartSpendings } from '../core/budget/budget.js';
import { SpendingStore } from '../ports/result-store.js';
import type { Database, SpendingsTable } from './schema.js';
import type { StoreGuard } from './store-guard.js';

/** What runs spend, as rows. Room is taken under a lock on the run's rows, so that calls that ask at once ask in turn. */
export class KyselySpendingStore extends SpendingStore {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
  ) {
    super();
  }

  override of(run_id: string, part: string): PartSpendings {
    const rows = this.db.selectFrom('spendings').selectAll().where('run_id', '=', run_id);
    return {
      begin: () => this.begin(run_id, part),
      take: (room, most) =>
        this.write(async (trx) => {
          const all = await trx
            .updateTable('spendings')
            .set({ run_id })
            .where('run_id', '=', run_id)
            .returningAll()
            .execute();
          const [spent, taken] = [spentOf(all), takenOf(all)];
          const fits = (unit: keyof Amount): boolean =>
            most[unit] === null || spent[unit] + taken[unit] + room[unit] <= most[unit];
          if (!fits('tokens') || !fits('usd')) return spent;
          await change(trx, { run_id, part }, { tokens: 0, usd: 0, taken_tokens: room.tokens, taken_usd: room.usd });
          return null;
        }),
      settle: (room, spent) => {
        const by = { ...spent, taken_tokens: -room.tokens, taken_usd: -room.usd };
        return this.write((trx) => change(trx, { run_id, part }, by));
      },
      ofRun: async () => spentOf(await this.guard.run(() => rows.execute())),
    };
  }

  private begin(run_id: string, part: string): Promise<Amount> {
    const row = this.db
      .insertInto('spendings')
      .values({ run_id, part, tokens: 0, usd: 0, taken_tokens: 0, taken_usd: 0 })
      .onConflict((conflict) => conflict.columns(['run_id', 'part']).doUpdateSet({ taken_tokens: 0, taken_usd: 0 }))
      .returning(['tokens', 'usd']);
    return this.guard.run(() => row.executeTakeFirstOrThrow());
  }

  private write<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    return this.guard.run(() => this.db.transaction().execute(work));
  }
}

type Counts = Omit<SpendingsTable, 'run_id' | 'part'>;

async function change(
  trx: Transaction<Database>,
  { run_id, part }: Pick<SpendingsTable, 'run_id' | 'part'>,
  by: Counts,
): Promise<void> {
  await trx
    .updateTable('spendings')
    .set({
      tokens: sql<number>`tokens + ${by.tokens}`,
      usd: sql<number>`usd + ${by.usd}`,
      taken_tokens: sql<number>`taken_tokens + ${by.taken_tokens}`,
      taken_usd: sql<number>`taken_usd + ${by.taken_usd}`,
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
