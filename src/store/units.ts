import { type ExpressionBuilder, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import {
  type Unit,
  type UnitEnding,
  unitId,
  UnitKind,
  type UnitSpec,
  UnitStore,
  type Wanted,
} from '../ports/unit-store.js';
import type { StoreDialect } from './dialect.js';
import { lapsedBefore, noteClock } from './lapsed-leases.js';
import type { Database, UnitsTable } from './schema.js';
import type { StoreGuard } from './store-guard.js';

/** Given out so often without an end, a unit is what kills its workers. */
export const MOST_ATTEMPTS = 5;

interface Times {
  readonly dialect: StoreDialect;
  /** Leases that end before it are over. */
  readonly lapsed: RawBuilder<number>;
}

/** Units that may be given out now. */
export function claimable(db: Kysely<Database>, { dialect, lapsed }: Times, { setups, not, only }: Wanted) {
  const query = db
    .selectFrom('units')
    .innerJoin('runs', 'runs.id', 'units.run_id')
    .where('runs.status', '=', 'running')
    .where('units.setup', 'in', setups)
    .where((eb) =>
      eb.or([
        eb.and([eb('units.state', '=', 'waiting'), eb('units.not_before', '<=', dialect.now())]),
        eb.and([
          eb('units.state', '=', 'leased'),
          eb('units.lease_until', '<', lapsed),
          eb('units.attempts', '<', MOST_ATTEMPTS),
        ]),
      ]),
    );
  const permitted = not.length === 0 ? query : query.where('units.run_id', 'not in', not);
  return only === null ? permitted : permitted.where('units.run_id', 'in', only);
}

/** Of those the one whose turn it is: a submitter has as much as another, and of one submitter each run. */
export function nextInTurn(db: Kysely<Database>, times: Times, wanted: Wanted) {
  const turns = db
    .selectFrom('runs')
    .select((eb) => ['submitter', eb.fn.max('served_at').as('served_at')])
    .where('status', '=', 'running')
    .groupBy('submitter')
    .as('turns');
  const inTurn = claimable(db, times, wanted)
    .innerJoin(turns, 'turns.submitter', 'runs.submitter')
    .select('units.id')
    .orderBy('turns.served_at', 'asc')
    .orderBy('runs.served_at', 'asc')
    .orderBy('units.created_at', 'asc')
    .orderBy('units.id', 'asc')
    .limit(1);
  return times.dialect.skipsLocked ? inTurn.forUpdate('units').skipLocked() : inTurn;
}

const OPEN = ['waiting', 'leased'];
const KILLS_WORKERS = {
  error: {
    code: 'worker-lost',
    message: `It was given out ${MOST_ATTEMPTS} times, and each time its worker was lost.`,
    next: 'Look at the memory and the logs of the workers.',
  },
};

/** Units as rows. Every claim begins with a write, as in KyselyRunStore; on PostgreSQL claims pass each other by. */
export class KyselyUnitStore extends UnitStore {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
    private readonly dialect: StoreDialect,
  ) {
    super();
  }

  override async offer(spec: UnitSpec): Promise<string> {
    const { runId, kind, setup, payload } = spec;
    const id = unitId(spec);
    const fresh = { state: 'waiting', attempts: 0, not_before: 0, owner: null, lease_until: null, outcome: null };
    const row = { id, run_id: runId, kind, setup, payload: JSON.stringify(payload), ...fresh };
    await this.guard.run(() =>
      this.db
        .insertInto('units')
        .values({ ...row, created_at: Date.now(), ended_at: null })
        .onConflict((conflict) =>
          conflict
            .column('id')
            .doUpdateSet({ ...fresh, setup, payload: row.payload, ended_at: null })
            // What was done stays done; what another process does under other settings is no use.
            .where((eb) =>
              eb.or([
                eb('units.state', '=', 'failed'),
                eb.and([eb('units.state', '!=', 'done'), eb('units.setup', '!=', setup)]),
              ]),
            ),
        )
        .execute(),
    );
    return id;
  }

  override async claim(owner: string, wanted: Wanted, leaseMs: number): Promise<Unit | null> {
    if (wanted.only?.length === 0) return null;
    // Most looks find nothing, and a look takes no lock.
    const look = () => claimable(this.db, this.times(), wanted).select('units.id').limit(1).executeTakeFirst();
    if ((await this.guard.run(look)) === undefined) return null;
    return this.write(async (trx) => {
      await noteClock(trx, this.dialect, this.guard);
      const row = await trx
        .updateTable('units')
        .set((eb) => ({
          state: 'leased',
          owner,
          lease_until: this.leaseEnd(leaseMs),
          attempts: eb('attempts', '+', 1),
        }))
        .where('id', '=', nextInTurn(this.db, this.times(), wanted))
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) return null;
      await trx.updateTable('runs').set({ served_at: this.dialect.now() }).where('id', '=', row.run_id).execute();
      return unitOf(row);
    });
  }

  override async extend(id: string, owner: string, leaseMs: number): Promise<boolean> {
    const alive = this.db.selectFrom('runs').select('id').where('status', 'in', ['queued', 'running']);
    const mine = this.db
      .updateTable('units')
      .set({ lease_until: this.leaseEnd(leaseMs) })
      .where('id', '=', id);
    const query = mine.where('owner', '=', owner).where('state', '=', 'leased').where('run_id', 'in', alive);
    return (await this.guard.run(() => query.executeTakeFirst())).numUpdatedRows > 0n;
  }

  override async settle(id: string, owner: string, ending: UnitEnding): Promise<boolean> {
    const mine = this.db.updateTable('units').where('id', '=', id).where('owner', '=', owner);
    const query = mine.where('state', '=', 'leased').set((eb) =>
      ending.state === 'waiting'
        ? {
            state: ending.state,
            lease_until: null,
            not_before: this.leaseEnd(ending.afterMs),
            attempts: eb('attempts', '-', ending.counts ? 0 : 1),
          }
        : { state: ending.state, lease_until: null, outcome: JSON.stringify(ending.outcome), ended_at: Date.now() },
    );
    return (await this.guard.run(() => query.executeTakeFirst())).numUpdatedRows > 0n;
  }

  override async withdraw(id: string): Promise<void> {
    const open = this.db.deleteFrom('units').where('id', '=', id).where('state', 'in', ['waiting', 'leased']);
    await this.guard.run(() => open.execute());
  }

  override async ended(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const open = this.db.selectFrom('units').select('id').where('id', 'in', ids).where('state', 'in', OPEN);
    const rows = await this.guard.run(() => open.where((eb) => eb.not(this.isExhausted(eb))).execute());
    const still = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !still.has(id));
  }

  override async areUnderWay(ids: readonly string[]): Promise<boolean> {
    if (ids.length === 0) return false;
    const leased = this.db.selectFrom('units').select('id').where('id', 'in', ids).where('state', '=', 'leased');
    const query = leased.where('lease_until', '>=', this.dialect.now()).limit(1);
    return (await this.guard.run(() => query.executeTakeFirst())) !== undefined;
  }

  override async outcome(id: string): ReturnType<UnitStore['outcome']> {
    const query = this.db.selectFrom('units').select(['state', 'outcome', 'owner', 'attempts']).where('id', '=', id);
    const row = await this.guard.run(() => query.executeTakeFirst());
    if (row === undefined) return null;
    const { state, owner, attempts } = row;
    if (state !== 'done' && state !== 'failed') return (await this.fail(id)) ? this.outcome(id) : null;
    return { state, outcome: JSON.parse(row.outcome ?? 'null') as unknown, owner, attempts };
  }

  /** Ends what lost all its workers. @returns false when there is still hope */
  private async fail(id: string): Promise<boolean> {
    const lost = { state: 'failed', lease_until: null, outcome: JSON.stringify(KILLS_WORKERS), ended_at: Date.now() };
    const query = this.db
      .updateTable('units')
      .set(lost)
      .where('id', '=', id)
      .where((eb) => this.isExhausted(eb));
    return (await this.guard.run(() => query.executeTakeFirst())).numUpdatedRows > 0n;
  }

  private isExhausted(eb: ExpressionBuilder<Database, 'units'>) {
    return eb.and([
      eb('state', '=', 'leased'),
      eb('attempts', '>=', MOST_ATTEMPTS),
      eb('lease_until', '<', this.times().lapsed),
    ]);
  }

  private times() {
    return { dialect: this.dialect, lapsed: lapsedBefore(this.dialect, this.guard) };
  }

  private leaseEnd(ms: number) {
    return sql<number>`${this.dialect.now()} + ${ms}`;
  }

  private write<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    return this.guard.run(() => this.db.transaction().execute(work));
  }
}

function unitOf({ id, run_id: runId, kind, setup, payload, attempts }: UnitsTable): Unit {
  return {
    id,
    runId,
    kind: UnitKind.parse(kind),
    setup,
    payload: JSON.parse(payload) as Unit['payload'],
    attempts,
  };
}
