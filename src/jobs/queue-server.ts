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

/** The server that several processes get their jobs from, as BullMQ speaks to it. */
export interface QueueServer extends Pick<Classes, 'Queue' | 'Worker'> {
  /** Of every queue and worker. */
  readonly options: { readonly connection: unknown; readonly prefix: string };
  /** @returns whether its clock jumped since it was last asked @throws what the driver does, while it does not answer */
  ask(): Promise<boolean>;
  close(): Promise<void>;
}

const PREFIX = 'bestk';
const CONNECTIONS = 12;
const ANSWER_WITHIN_MS = 10_000;
/** Redis's words for a wrong password, or for rights that are missing. */
const REFUSED = /WRONGPASS|NOAUTH|NOPERM/;

/** @param url `redis://…`, `rediss://…` or `postgresql://…` @throws what the driver and BullMQ's migration do */
export async function openQueueServer(url: string): Promise<QueueServer> {
  return /^rediss?:/.test(url) ? onRedis(url) : onPostgres(url);
}

async function onRedis(url: string): Promise<QueueServer> {
  const { Redis } = await import('ioredis');
  const client = new Redis(url, { maxRetriesPerRequest: null });
  // Whoever asks something is told; without a listener the process would end.
  client.on('error', () => undefined);
  // Redis itself counts how long a lock lasts.
  const ask = async (): Promise<boolean> => {
    await abortable(client.ping(), AbortSignal.timeout(ANSWER_WITHIN_MS));
    return false;
  };
  // One that is away is waited for; one that does not take us will not either.
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

/** The one that BullMQ looks for in a pool that it is given. */
const SCHEMA = 'bullmq';
const INT8 = 20;
/** No count is as large, and every time in milliseconds since 1970 is. */
const TIMES = 1e12;
const JUMP_MS = 1_000;

/**
 * A pool as BullMQ takes it. Its PostgreSQL backend says by the clock of each process when a lock ends, so that one whose clock is ahead would take
 * away what others work on. Here every time is told in the server's, and goes on by the clock of timers.
 */
class ServersTime {
  private readonly pool: pg.Pool;
  /** What the server's clock is ahead of the clock of timers; null = not asked yet. */
  private ahead: number | null = null;
  private ended: Promise<void> | null = null;

  constructor(url: string) {
    const types = new pg.TypeOverrides();
    types.setTypeParser(INT8, (text) => this.inOurs(Number(text)));
    this.pool = new pg.Pool({
      connectionString: url,
      max: CONNECTIONS,
      // A job that is lost is handed over again. Every one notifies, so that commits that wait for the disk would do so one by one.
      options: `-c search_path=${SCHEMA} -c synchronous_commit=off`,
      application_name: 'bestk jobs',
      keepAlive: true,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      types,
    });
  }

  /** As QueueServer.ask. */
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
