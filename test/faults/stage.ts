import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, startCluster } from '../../scripts/setup/postgres.mjs';
import { openPostgresStore } from '../../src/store/postgres.js';
import { openSqliteStore } from '../../src/store/sqlite.js';
import type { OpenStore } from '../../src/store/store.js';
import { sqliteRows } from '../unit/store/sqlite-rows.js';
import { type AnswerChat, ModelServer } from '../fakes/model-server.js';
import { told } from '../fixtures/calculator-run.js';
import { CommandLine } from '../fixtures/command-line.js';
import { Service } from '../fixtures/service.js';
import { type Clocks, FakedClock } from './faked-clock.js';
import type { PrivateEngine } from './private-engine.js';
import { SmallDisk } from './small-disk.js';
import { TcpProxy } from './tcp-proxy.js';
import type { Surroundings } from './surroundings.js';

type Settings = Readonly<Record<string, string>>;
interface Parts {
  readonly surroundings: Surroundings;
  readonly engine: PrivateEngine;
  readonly disk: SmallDisk;
  readonly clocks: Clocks;
  readonly cluster: Cluster | null;
  readonly cable: TcpProxy | null;
  readonly model: ModelServer;
  readonly store: OpenStore;
  readonly folder: string;
  readonly file: string;
}

const STORE_DISK_MB = { postgres: 512, sqlite: 64 };

/** A service, perhaps a worker, and all they need, as real processes. */
export class Stage {
  service: Service | null = null;
  worker: ChildProcess | null = null;
  /** Model answers in the store when the run was submitted. */
  answersBefore = 0;
  private static answer: AnswerChat = () => ({ status: 500, json: {} });

  private constructor(readonly parts: Parts) {}

  static async open(surroundings: Surroundings, starting: Promise<PrivateEngine>): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'bestk-faults-'));
    // PostgreSQL runs as a user of its own.
    chmodSync(folder, 0o755);
    const disk = new SmallDisk(join(folder, 'disk'), STORE_DISK_MB[surroundings.store]);
    const clock = (name: string): FakedClock => new FakedClock(folder, name);
    const clocks = { service: clock('service'), worker: clock('worker'), database: clock('database') };
    const file = join(disk.path, 'store.sqlite');
    const env = surroundings.clocks ? clocks.database.env : {};
    const settings = { min_wal_size: '32MB', max_wal_size: '128MB' };
    const cluster = surroundings.store === 'postgres' ? await startCluster({ parent: disk.path, env, settings }) : null;
    const cable = cluster === null ? null : await TcpProxy.start(cluster.port);
    const store = await (cluster === null ? openSqliteStore(file) : openPostgresStore(cluster.url));
    const engine = await starting;
    const model = await ModelServer.start((body, index) => Stage.answer(body, index), ['agent', 'judge']);
    const stage = new Stage({ surroundings, engine, disk, clocks, cluster, cable, model, store, folder, file });
    await stage.ensureStarted();
    return stage;
  }

  /** What the model answers from now on. @param stored answers that are in the store */
  play(answer: AnswerChat, stored: number): void {
    Stage.answer = answer;
    this.answersBefore = stored;
    this.parts.model.calls.length = 0;
  }

  /** Starts what is not there. */
  async ensureStarted(): Promise<void> {
    await Promise.all([this.startService(), this.startWorker()]);
  }

  private async startService(): Promise<void> {
    this.service ??= await Service.start(this.commandLine(this.database, 'service'), { BESTK_LOG_LEVEL: 'info' });
  }

  private async startWorker(): Promise<void> {
    const { surroundings, cable, cluster } = this.parts;
    if (!surroundings.worker || this.worker !== null) return;
    const cabled = this.database.replace(`:${cluster?.port ?? ''}/`, `:${cable?.port ?? ''}/`);
    this.worker = this.commandLine(cabled, 'worker').start(['worker'], { BESTK_LOG_LEVEL: 'info' });
    await told(this.worker, /"working"/);
  }

  private get database(): string {
    const { cluster, file } = this.parts;
    return cluster?.url ?? `file:${file}`;
  }

  async kill(which: 'service' | 'worker'): Promise<void> {
    const child = which === 'service' ? this.service?.child : this.worker;
    if (which === 'service') this.service = null;
    else this.worker = null;
    await end(child ?? null, 'SIGKILL');
  }

  /** Rows as `psql -At` prints them. */
  async rows(query: string): Promise<readonly string[]> {
    const { cluster, file } = this.parts;
    const text = cluster === null ? sqliteRows(file, query) : await cluster.sql(query);
    return text.trim().split('\n').filter(Boolean);
  }

  async close(): Promise<void> {
    const { folder, store, model, cable, cluster, disk } = this.parts;
    await Promise.all([end(this.service?.child ?? null, 'SIGTERM'), end(this.worker, 'SIGTERM')]);
    await store.close();
    await model.close();
    await cable?.close();
    await cluster?.destroy();
    disk.remove();
    rmSync(folder, { recursive: true, force: true });
  }

  private commandLine(database: string, which: 'service' | 'worker'): CommandLine {
    const { surroundings, engine, model, clocks } = this.parts;
    const faked: Settings = surroundings.clocks ? clocks[which].env : {};
    return new CommandLine({
      ...faked,
      DATABASE_URL: database,
      DOCKER_HOST: engine.host,
      OPENAI_BASE_URL: model.baseUrl,
      BESTK_AGENT_MODEL: 'agent',
      BESTK_VERIFIER_MODEL: 'judge',
      BESTK_LLM_CONCURRENCY: '2',
      BESTK_SANDBOX_CONCURRENCY: '2',
    });
  }
}

async function end(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'close');
  child.kill(signal);
  await gone;
}
