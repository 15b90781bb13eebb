import { type RawBuilder, sql } from 'kysely';

/** Where the databases differ. */
export interface StoreDialect {
  /** The time that leases are counted in, ms since 1970: of one clock, whichever machine asks. */
  readonly now: () => RawBuilder<number>;
  /** Rows that another transaction is about to take can be passed over. */
  readonly skipsLocked: boolean;
  /** A write can take what another in the same statement returned. */
  readonly nestsWrites: boolean;
}

/** One file on one machine: its clock is everybody's. */
export const SQLITE: StoreDialect = { now: () => sql<number>`${Date.now()}`, skipsLocked: false, nestsWrites: false };

/** The server's clock, for those of several machines differ. */
export const POSTGRES: StoreDialect = {
  now: () => sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
  skipsLocked: true,
  nestsWrites: true,
};
