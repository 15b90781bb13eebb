import { type Kysely, type RawBuilder } from 'kysely';
import type { Wanted } from '../ports/unit-store.js';
import type { Database } from './kysely-schema.js';
import type { StoreDialect } from './store-dialect.js';

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
