import { hostname } from 'node:os';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { benchmarkHandler, type DriverTools } from '../benchmarks/driver.js';
import { Wakeup } from '../core/async/time.js';
import { QueueUnavailableError } from '../core/errors/unavailable.js';
import { hider } from '../core/secrets.js';
import { type JobHandler, Jobs } from '../jobs/jobs.js';
import { PlainJobs } from '../jobs/plain-jobs.js';
import { type WorkerProcess, WorkerProcessJobs } from '../jobs/worker-process.js';
import { AuditLog } from '../ports/audit-log.js';
import { BenchmarkStore, ReportStore } from '../ports/benchmark-store.js';
import { ResultStore } from '../ports/result-store.js';
import { RunStore } from '../ports/run-store.js';
import { Sandbox } from '../ports/sandbox.js';
import { PartHandlers, RunRecovery, runHandler } from '../runs/job-handlers.js';
import { RunDependenciesFactory, RunExecutor } from '../runs/run-dependencies.js';
import { RunSettings, RunWorker } from '../runs/run-worker.js';
import { ThreadedLogs } from './threads/threaded-readers.js';
import { StoreSweeper } from '../runs/sweep-timers.js';
import { isDeadOwner, isNeighbour, OWNER } from '../sandbox/container/sandbox-owner.js';
import { openStore } from '../store/open-store.js';
import type { OpenStore } from '../store/store.js';
import { CONFIG, type Config } from './config.js';
import { Claims } from '../core/async/concurrency.js';

/** DI token of the open store. */
export const STORE = Symbol('OpenStore');
/** DI token of the job handlers of this process. */
export const HANDLERS = Symbol('JobHandlers');

const DRIVER = Symbol('DriverTools');

/** Identifies this process in the events of runs. */
export const PROCESS_NAME = `${hostname()}:${process.pid}`;

function isAlive(owner: string): boolean {
  return isNeighbour(owner) && !isDeadOwner(owner);
}

/**
 * The role of a process. A command does its work by plain calls; a service accepts runs; a worker executes jobs, from the
 * shared queue or from the one service that started it.
 */
export class Role {
  /** @param worker the worker process of a service; absent = other processes do the work */
  constructor(
    readonly is: 'command' | 'service' | 'worker',
    readonly worker?: WorkerProcess,
  ) {}
}

@Module({})
class RoleModule {}

/** Provides the role of this process to all modules. */
export function inRole(role: Role): DynamicModule {
  return { module: RoleModule, global: true, providers: [{ provide: Role, useValue: role }], exports: [Role] };
}

type RecoveryParts = [RunStore, RunExecutor, Jobs, RunSettings, BenchmarkStore];
type JobsParts = [Role, Config, OpenStore, RunDependenciesFactory, RunSettings, Claims];
type PartTools = [RunStore, Sandbox, RunDependenciesFactory, RunSettings, Config];
type HandlerParts = [Role, Config, RunWorker, RunExecutor, RunSettings, PartHandlers, DriverTools];
type DriverParts = [OpenStore, ResultStore, Sandbox, Jobs, RunExecutor];

/** Providers of the store and of the job system. */
export const jobProviders: Provider[] = [
  Claims,
  { provide: STORE, useFactory: ({ store }: Config) => openStore(store), inject: [CONFIG] },
  { provide: RunStore, useFactory: ({ runs }: OpenStore) => runs, inject: [STORE] },
  { provide: BenchmarkStore, useFactory: ({ benchmarks }: OpenStore) => benchmarks, inject: [STORE] },
  { provide: ReportStore, useFactory: ({ reports }: OpenStore) => reports, inject: [STORE] },
  { provide: AuditLog, useFactory: ({ audit }: OpenStore) => audit, inject: [STORE] },
  {
    provide: StoreSweeper,
    useFactory: ({ retention }: OpenStore, { retentionDays }: Config, { logger }: RunSettings) =>
      new StoreSweeper(retention, retentionDays, (reason) => {
        logger.warn(reason);
      }),
    inject: [STORE, CONFIG, RunSettings],
  },
  {
    provide: Jobs,
    useFactory: (...[role, config, store, dependencies, settings, claims]: JobsParts) =>
      openJobs(role, config, { store, settings, claims, setup: () => dependencies.setup() }),
    inject: [Role, CONFIG, STORE, RunDependenciesFactory, RunSettings, Claims],
  },
  {
    provide: RunWorker,
    useFactory: (store: RunStore, executor: RunExecutor, settings: RunSettings) =>
      new RunWorker({ store, executor, settings, owner: OWNER, isAlive }),
    inject: [RunStore, RunExecutor, RunSettings],
  },
  {
    provide: RunRecovery,
    useFactory: (...[store, executor, jobs, settings, benchmarks]: RecoveryParts) =>
      new RunRecovery({ store, executor, jobs, settings, benchmarks }),
    inject: [RunStore, RunExecutor, Jobs, RunSettings, BenchmarkStore],
  },
  {
    provide: PartHandlers,
    useFactory: (...[runs, sandbox, dependencies, settings, config]: PartTools) =>
      new PartHandlers({ runs, sandbox, dependencies, settings, atOnce: capacityOf(config) }),
    inject: [RunStore, Sandbox, RunDependenciesFactory, RunSettings, CONFIG],
  },
  {
    provide: DRIVER,
    useFactory: (...[{ runs, benchmarks }, results, sandbox, jobs, executor]: DriverParts): DriverTools => ({
      ...{ runs, benchmarks, results, sandbox, jobs, readLog: new ThreadedLogs().read, ended: new Wakeup() },
      setup: () => executor.setup(),
    }),
    inject: [STORE, ResultStore, Sandbox, Jobs, RunExecutor],
  },
  {
    provide: HANDLERS,
    useFactory: (
      ...[role, { queue }, worker, executor, settings, parts, driver]: HandlerParts
    ): readonly JobHandler[] => {
      if (role.is !== 'worker') return [];
      const own = [runHandler(worker, executor, settings, driver.ended), benchmarkHandler(driver)];
      return [...own, ...(queue === null ? [] : parts.all())] as readonly JobHandler[];
    },
    inject: [Role, CONFIG, RunWorker, RunExecutor, RunSettings, PartHandlers, DRIVER],
  },
];

interface JobsTools {
  readonly store: OpenStore;
  readonly settings: RunSettings;
  readonly claims: Claims;
  readonly setup: () => Promise<string>;
}

/** @throws QueueUnavailableError */
async function openJobs(
  { is, worker }: Role,
  { queue, secrets }: Config,
  { store, settings: { logger: log }, claims, setup }: JobsTools,
): Promise<Jobs> {
  if (is !== 'command' && queue !== null) {
    // Loaded only if processes share a queue.
    const [{ openQueueServer }, { QueueJobs }] = await Promise.all([
      import('../jobs/queue-server.js'),
      import('../jobs/queue-jobs.js'),
    ]);
    const server = await openQueueServer(queue).catch((error: unknown) => {
      throw new QueueUnavailableError(hider(secrets)(error instanceof Error ? error.message : String(error)), {
        cause: error,
      });
    });
    return new QueueJobs({ server, results: store.results, setup: await setup(), claims, log });
  }
  if (worker !== undefined) return new WorkerProcessJobs(worker);
  return new PlainJobs(store.results, ({ kind, key }, error) => {
    log.error(`A job of the kind "${kind}" failed (${key}): ${String(error)}`);
  });
}

/** As many as keep the scarce resource busy; a job held waiting here could run on another machine. */
function capacityOf({ llm, sandbox }: Config): Record<'rollout' | 'call' | 'cells', number> {
  return {
    // A rollout spends part of its time in its container, so twice the model calls.
    rollout: Math.min(sandbox.idleSessions, 2 * llm.concurrency),
    call: llm.concurrency,
    cells: sandbox.concurrency,
  };
}
