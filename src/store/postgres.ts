import { Kysely, Migrator, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import { type Database, POSTGRES } from './schema.js';
import { migrations, refuseOtherBuilds } from './migrations.js';
import { type StoreFailure, StoreGuard } from './statements.js';
import { kyselyStore, type OpenStore } from './store.js';

interface PostgresPatience {
  /** How long a start waits for a server that is not there yet. */
  readonly openMs: number;
  /** How long work waits for one that went away. */
  readonly workMs: number;
}

const PATIENCE: PostgresPatience = { openMs: 5_000, workMs: 60_000 };

/**
 * The store on a PostgreSQL server, for processes on several machines.
 * @throws StoreUnavailableError naming server, database and user, and what was tried
 */
export async function openPostgresStore(url: string, patience = PATIENCE): Promise<OpenStore> {
  let name: string;
  try {
    name = nameOfDatabase(url);
  } catch {
    throw new StoreUnavailableError('DATABASE_URL is no address of a PostgreSQL database');
  }
  return storeOnPool(new CarefulPool(url), name, patience);
}

/** The store on any pool that speaks PostgreSQL; it is the store's from here on. @throws StoreUnavailableError */
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

/** Kysely takes a lock of the server's, so that processes that start together do not both migrate. */
async function migrate(db: Kysely<Database>, name: string): Promise<void> {
  await refuseOtherBuilds(db, name);
  const { error } = await new Migrator({ db, provider: migrations }).migrateToLatest();
  if (error === undefined) return;
  if (postgresFailure(error) !== null) throw error as Error;
  throw new StoreUnavailableError(`${name}: ${textOf(error)}`, { cause: error });
}

const CONNECTIONS = 10;
const CONNECT_WITHIN_MS = 5_000;
/** A network that was cut says nothing; what has not answered by then is taken for lost. */
const ANSWER_WITHIN_MS = 60_000;
/**
 * A process that is cut off leaves its transaction, and the rows that it locked, to the server; less than the time after which
 * others take its work over, so that they find them free. Said within each transaction: a pooler refuses a session that asks for it.
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
function nameOfDatabase(url: string): string {
  const { host, port, database, user } = new pg.Client({ connectionString: url });
  const server = host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
  return `PostgreSQL at ${server}, database "${database ?? ''}", user "${user ?? ''}"`;
}

/** Classes of SQLSTATE that tell of the server, not of the statement, and whether a later try may do. */
const CLASSES: Readonly<Record<string, boolean>> = {
  // Connection lost, out of resources (disk, memory, connections), shut down or starting, the system's own error.
  '08': true,
  '53': true,
  '57': true,
  '58': true,
  // A fault of its own: so ends, on a full disk, a session that begins ("could not write init file").
  XX: true,
  // Deadlock or serialization: the other one has gone on.
  '40': true,
  // Refused: password, user, database, rights.
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
/** The driver gives these no code. */
const SAID = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect/,
  /^Query read timeout/,
  /^Client has encountered a connection error/,
  /^The server does not support SSL/,
  /^driver has already been destroyed/,
];

/** Whether the connection that this came over is of no more use. */
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

/** What an error of the driver means; null when it is none of the server's. */
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

/** By its fields: an error of another realm is no instance of ours. Of a name with several addresses all are told. */
function textOf(error: unknown): string {
  const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.map(textOf).join('; ');
  return typeof message === 'string' && message !== '' ? message : codeOf(error) || String(error);
}
