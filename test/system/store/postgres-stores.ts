import { PGlite } from '@electric-sql/pglite';
import type { PostgresPool } from 'kysely';
import pLimit from 'p-limit';
import { storeOnPool } from '../../../src/store/postgres.js';
import type { OpenStore } from '../../../src/store/store.js';

const EMPTY = 'truncate spendings, run_events, run_documents, runs, results, reports, audit, benchmarks cascade';
const INT8 = 20;

/** PostgreSQL's language in this process: one connection, which transactions take in turn. */
export async function openPglite(): Promise<{ store: OpenStore; empty: () => Promise<void> }> {
  const server = await PGlite.create({ parsers: { [INT8]: Number } });
  const alone = pLimit(1);
  const pool: PostgresPool = {
    connect: () =>
      new Promise((give) => {
        void alone(
          () =>
            new Promise<void>((release) => {
              give({ query: (sql: string, values: unknown[]) => ask(server, sql, values), release } as never);
            }),
        );
      }),
    end: () => server.close(),
  };
  const store = await storeOnPool(pool, 'PGlite');
  return {
    store,
    empty: async () => {
      await alone(() => server.exec(EMPTY));
    },
  };
}

/** The driver's answer, as Kysely reads it. */
async function ask(server: PGlite, sql: string, values: unknown[]): Promise<never> {
  const { rows, affectedRows } = await server.query(sql, values);
  const command = (/^\w+/.exec(sql)?.[0] ?? '').toUpperCase();
  return { command, rowCount: affectedRows ?? rows.length, rows } as never;
}

export { EMPTY };
