import { Kysely, Migrator, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import { type Database, POSTGRES } from './schema.js';
import { migrations, refuseOtherBuilds } from './migrations.js';
import { type StoreFailure, StoreGuard } from './statements.js';
import { kyselyStore, type OpenStore } from './store.js';

interface PostgresPatience {
  /** How long opening waits for a server that is not available yet, in ms. */
  readonly openMs: number;
  /** How long an operation waits for a server that became unavailable, in ms. */
  readonly workMs: number;
}

const PATIENCE: PostgresPatience = { openMs: 5_000, workMs: 60_000 };

/**
 * The store on a PostgreSQL server, for processes on several machines.
 * @throws StoreUnavailableError naming server, database and user, and the attempts made
 */
export async function openPostgresStore(url: string, patience = PATIENCE): Promise<OpenStore> {
  let name: string;
  try {
    name = nameOfDatabase(url);
  } catch {
    throw new StoreUnavailableError('DATABASE_URL is not a PostgreSQL URL');
  }
  return storeOnPool(new CarefulPool(url), name, patience);
}

/**
 * The store on any pool that speaks PostgreSQL; takes ownership of the pool.
 * @throws StoreUnavailableError
 */
export async function storeOnPool(pool: PostgresPool, name: string, patience = PATIENCE): Promise<OpenStore> {
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  const guard = new StoreGuard({ name, read: postgresFailure, patienceMs: patience.workMs });
  try {
    await guard.run(() => migrate(db, name), patience.openMs);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return kyselyStore(db, { name, guard, dialect: POSTGRES });
}

/** Kysely takes a server-side lock, so processes that start together do not both migrate. */
async function migrate(db: Kysely<Database>, name: string): Promise<void> {
  await refuseOtherBuilds(db, name);
  const { error } = await new Migrator({ db, provider: migrations }).migrateToLatest();
  if (error === undefined) return;
  if (postgresFailure(error) !== null) throw error as Error;
  throw new StoreUnavailableError(`${name}: ${textOf(error)}`, { cause: error });
}

const CONNECTIONS = 10;
const CONNECT_WITHIN_MS = 5_000;
/** A severed network reports no error; a connection without an answer after this time counts as lost. */
const ANSWER_WITHIN_MS = 60_000;
/**
 * A process that is cut off leaves its transaction and row locks on the server. This timeout is shorter than the delay after
 * which others take over its work, so that they find the rows unlocked. Set in each transaction, because a connection pooler
 * refuses it for a session.
 */
const BEGIN = [
  'begin',
  'set local idle_in_transaction_session_timeout = 5000',
  `set local statement_timeout = ${ANSWER_WITHIN_MS}`,
  'set local tcp_user_timeout = 5000',
].join(';');
const INT8 = 20;

/** Counts and times fit in a number. */
const types = new pg.TypeOverrides();
types.setTypeParser(INT8, Number);

/** Connections to one server. A lost connection is never reused and never crashes the process. */
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
    // Errors of idle connections; the pool discards those itself.
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
          // After a partly executed `begin`, the next transaction would start in this one.
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

/**
 * Describes server, database and user, without the password.
 * @throws if the URL is not an address
 */
function nameOfDatabase(url: string): string {
  const { host, port, database, user } = new pg.Client({ connectionString: url });
  const server = host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
  return `PostgreSQL at ${server}, database "${database ?? ''}", user "${user ?? ''}"`;
}

/** SQLSTATE classes and codes that concern the server rather than the statement; true = a retry may succeed. */
const CLASSES: Readonly<Record<string, boolean>> = {
  // Connection lost, out of resources (disk, memory, connections), shutting down or starting, system error.
  '08': true,
  '53': true,
  '57': true,
  '58': true,
  // Internal error: with a full disk, a starting session fails like this ("could not write init file").
  XX: true,
  // Deadlock or serialization failure: the other transaction has proceeded.
  '40': true,
  // Refused: password, user, database, permissions.
  '28': false,
  '3D': false,
  '42501': false,
  // Read-only: a standby before its promotion.
  '25006': true,
};
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOENT',
  'ENOTFOUND',
]);
/** Messages of driver errors without a code. */
const SAID = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect/,
  /^Query read timeout/,
  /^Client has encountered a connection error/,
  /^The server does not support SSL/,
  /^driver has already been destroyed/,
];

/** Whether the connection that raised this error is unusable. */
function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    NETWORK.has(code) ||
    code.startsWith('08') ||
    code.startsWith('57P') ||
    code === '25P03' ||
    SAID.some((said) => said.test(textOf(error)))
  );
}

/** Classifies a driver error; null if it does not concern the server. */
export function postgresFailure(error: unknown): StoreFailure | null {
  const code = codeOf(error);
  if (isConnectionLost(error)) return { detail: textOf(error), passing: code !== 'ENOTFOUND' };
  const passing = CLASSES[code] ?? CLASSES[code.slice(0, 2)];
  return passing === undefined ? null : { detail: textOf(error), passing };
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/**
 * The error's message, read by field because an error from another realm is not an instance of Error. If a name has several
 * addresses, the errors of all are joined.
 */
function textOf(error: unknown): string {
  const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.map(textOf).join('; ');
  return typeof message === 'string' && message !== '' ? message : codeOf(error) || String(error);
}
