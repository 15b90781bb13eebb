import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  runMigrations,
  withBackend,
} from 'bullmq';
import pg from 'pg';
import { abortable } from '../core/async/time.js';

type Classes = ReturnType<typeof withBackend<IQueueBackend, unknown>>;

/** The server that distributes jobs between processes, as BullMQ uses it. */
export interface QueueServer extends Pick<Classes, 'Queue' | 'Worker'> {
  /** For every queue and worker. */
  readonly options: { readonly connection: unknown; readonly prefix: string };
  /** @returns whether its clock jumped since the last call @throws the driver's error while it does not answer */
  ask(): Promise<boolean>;
  close(): Promise<void>;
}

const PREFIX = 'bestk';
const CONNECTIONS = 12;
const ANSWER_WITHIN_MS = 10_000;
/** Redis's errors for a wrong password or missing permissions. */
const REFUSED = /WRONGPASS|NOAUTH|NOPERM/;

/** @param url `redis://…`, `rediss://…` or `postgresql://…` @throws errors of the driver and of BullMQ's migration */
export async function openQueueServer(url: string): Promise<QueueServer> {
  return /^rediss?:/.test(url) ? onRedis(url) : onPostgres(url);
}

async function onRedis(url: string): Promise<QueueServer> {
  const { Redis } = await import('ioredis');
  const client = new Redis(url, { maxRetriesPerRequest: null });
  // The calls that fail report it; without a listener the process would end.
  client.on('error', () => undefined);
  // Redis itself expires locks, so clock jumps do not matter.
  const ask = async (): Promise<boolean> => {
    await abortable(client.ping(), AbortSignal.timeout(ANSWER_WITHIN_MS));
    return false;
  };
  // An unreachable server is waited for; one that refuses the credentials will keep doing so.
  await ask().catch((error: unknown) => {
    if (!REFUSED.test(String(error))) return;
    client.disconnect();
    throw error;
  });
  return {
    ...withBackend(createRedisBackend as BackendFactory<IQueueBackend, unknown>),
    options: { connection: client, prefix: PREFIX },
    ask,
    close() {
      client.disconnect();
      return Promise.resolve();
    },
  };
}

async function onPostgres(url: string): Promise<QueueServer> {
  const pool = new ServersTime(url);
  try {
    const client = await pool.connect();
    try {
      await runMigrations(client, SCHEMA);
    } finally {
      client.release();
    }
    await pool.ask();
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    ...withBackend(createPostgresBackend as BackendFactory<IQueueBackend, unknown>),
    options: { connection: pool, prefix: PREFIX },
    ask: () => pool.ask(),
    close: () => pool.end(),
  };
}

/** The schema in which BullMQ expects its tables when it is given a pool. */
const SCHEMA = 'bullmq';
const INT8 = 20;
/** Greater than any count, less than any time in milliseconds since 1970. */
const TIMES = 1e12;
const JUMP_MS = 1_000;

/**
 * A pool for BullMQ. BullMQ's PostgreSQL backend computes the end of a lock from each process's clock, so a process
 * whose clock is ahead would take over jobs that others work on. This pool converts every time to the server's clock,
 * advanced by the monotonic clock.
 */
class ServersTime {
  private readonly pool: pg.Pool;
  /** The server's clock minus the monotonic clock, in ms; null = not measured yet. */
  private ahead: number | null = null;
  private ended: Promise<void> | null = null;

  constructor(url: string) {
    const types = new pg.TypeOverrides();
    types.setTypeParser(INT8, (text) => this.inOurs(Number(text)));
    this.pool = new pg.Pool({
      connectionString: url,
      max: CONNECTIONS,
      // A lost job is submitted again, so commits need not wait for the disk; since all of them notify, they would wait
      // one by one.
      options: `-c search_path=${SCHEMA} -c synchronous_commit=off`,
      application_name: 'bestk jobs',
      keepAlive: true,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      types,
    });
  }

  /** See QueueServer.ask. */
  async ask(): Promise<boolean> {
    const asked = performance.now();
    const { rows } = await this.pool.query<{ now: number }>(
      'select extract(epoch from clock_timestamp())::float8 as now',
    );
    const now = (rows[0]?.now ?? 0) * 1000;
    const [least, most] = [now - performance.now(), now - asked];
    const { ahead } = this;
    if (ahead !== null && ahead > least - JUMP_MS && ahead < most + JUMP_MS) return false;
    this.ahead = (least + most) / 2;
    return ahead !== null;
  }

  query(text: string, params: readonly unknown[] = []): Promise<pg.QueryResult> {
    return this.pool.query(
      text,
      params.map((value) => this.inTheirs(value)),
    );
  }

  connect(): Promise<pg.PoolClient> {
    return this.pool.connect();
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.pool.on(event, listener);
  }

  end(): Promise<void> {
    this.ended ??= this.pool.end();
    return this.ended;
  }

  private inTheirs(value: unknown): unknown {
    return typeof value === 'number' && value > TIMES ? Math.round(value + this.difference()) : value;
  }

  private inOurs(value: number): number {
    return value > TIMES ? Math.round(value - this.difference()) : value;
  }

  private difference(): number {
    return this.ahead === null ? 0 : performance.now() + this.ahead - Date.now();
  }
}
