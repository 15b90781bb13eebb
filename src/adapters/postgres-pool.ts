import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { isConnectionLost } from './postgres-failure.js';

const CONNECTIONS = 10;
const CONNECT_WITHIN_MS = 5_000;
/** A network that was cut says nothing; what has not answered by then is taken for lost. */
const ANSWER_WITHIN_MS = 60_000;
/**
 * A process that is cut off leaves its transaction, and the rows that it locked, to the server; below the lease, so that
 * whoever takes its work over finds them free. Said within each transaction: a pooler refuses a session that asks for it.
 */
const BEGIN = [
  'begin',
  'set local idle_in_transaction_session_timeout = 5000',
  `set local statement_timeout = ${ANSWER_WITHIN_MS}`,
  'set local tcp_user_timeout = 5000',
].join(';');
const INT8 = 20;

/** Counts and times fit into a number. */
const types = new pg.TypeOverrides();
types.setTypeParser(INT8, Number);

/** Connections to one server. One that is lost is never used again, and never ends the process. */
export class CarefulPool implements PostgresPool {
  private readonly pool: pg.Pool;

  constructor(url: string) {
    this.pool = new pg.Pool({
      connectionString: url,
      application_name: 'bestk',
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      keepAlive: true,
      types,
    });
    // Of a connection that nobody uses; the pool drops it.
    this.pool.on('error', () => undefined);
  }

  async connect(): Promise<PostgresPoolClient> {
    const client = await this.pool.connect();
    let lost = false;
    const note = (): void => {
      lost = true;
    };
    client.on('error', note);
    return {
      query: async (sql: unknown, parameters?: readonly unknown[]) => {
        try {
          return await client.query(sql === 'begin' ? BEGIN : (sql as string), [...(parameters ?? [])]);
        } catch (error) {
          // A transaction that did not begin whole would be the next one's.
          if (isConnectionLost(error) || sql === 'begin') lost = true;
          throw error;
        }
      },
      release: () => {
        client.off('error', note);
        client.release(lost);
      },
    } as unknown as PostgresPoolClient;
  }

  async end(): Promise<void> {
    await this.pool.end();
  }
}

/** Server and database in words, without a password; the given text where it is no address. */
export function nameOfDatabase(url: string): string {
  const { host, port, database, user } = new pg.Client({ connectionString: url });
  const server = host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
  return `PostgreSQL at ${server}, database "${database ?? ''}", user "${user ?? ''}"`;
}
