import { hostname } from 'node:os';
import type { Provider } from '@nestjs/common';
import { openStore } from '../store/open-store.js';
import { inRun } from '../core/async/run-context.js';
import type { OpenStore } from '../store/store.js';
import { CONFIG, type Config } from './config.js';
import { RunDependenciesFactory } from '../runs/run-dependencies.js';
import { RunSettings } from '../runs/run-settings.js';
import { Jobs } from '../jobs/jobs.js';
import { PlainJobs } from '../jobs/plain-jobs.js';
import { ResultStore } from '../ports/result-store.js';
import type { SpreadTools } from '../jobs/run-spread.js';
import { StoreSweeper } from '../runs/sweepers.js';
import { UnitDesk } from '../jobs/unit-desk.js';
import { UnitPerformer } from '../jobs/unit-performer.js';
import { UnitWorker } from '../jobs/unit-worker.js';
import { AuditLog } from '../ports/audit-log.js';
import { ReportStore } from '../ports/report-store.js';
import { RunStore } from '../ports/run-store.js';
import { Sandbox } from '../ports/sandbox.js';
import type { UnitKind } from '../ports/unit-store.js';

/** DI token of the open store. */
export const STORE = Symbol('OpenStore');
/** DI token of what runs are spread with. */
export const SPREAD = Symbol('SpreadTools');

/** Names this process in leases and events. */
export const PROCESS_NAME = `${hostname()}:${process.pid}`;

type PerformerParts = [OpenStore, Sandbox, RunDependenciesFactory, Config, RunSettings];

/** The store, and what lets the runs of a store be worked on by all processes that share it, this one included. */
export const spreadProviders: Provider[] = [
  { provide: STORE, useFactory: ({ store }: Config) => openStore(store), inject: [CONFIG] },
  { provide: RunStore, useFactory: ({ runs }: OpenStore) => runs, inject: [STORE] },
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
    useFactory: (results: ResultStore, { logger }: RunSettings) =>
      new PlainJobs(results, ({ kind, key }, error) => {
        logger.error(`A job of the kind "${kind}" failed (${key}): ${String(error)}`);
      }),
    inject: [ResultStore, RunSettings],
  },
  {
    provide: UnitPerformer,
    useFactory: (...[{ runs, results }, sandbox, dependencies, config, { room }]: PerformerParts) =>
      new UnitPerformer({
        runs,
        results,
        sandbox,
        dependencies,
        rooms: capacityOf(config),
        process: PROCESS_NAME,
        room,
        inRun,
      }),
    inject: [STORE, Sandbox, RunDependenciesFactory, CONFIG, RunSettings],
  },
  {
    provide: UnitWorker,
    useFactory: ({ units, runs }: OpenStore, performer: UnitPerformer, settings: RunSettings) =>
      new UnitWorker({ units, runs, performer, settings, inRun }),
    inject: [STORE, UnitPerformer, RunSettings],
  },
  {
    provide: UnitDesk,
    useFactory: (
      { units }: OpenStore,
      dependencies: RunDependenciesFactory,
      worker: UnitWorker,
      settings: RunSettings,
    ) => new UnitDesk({ units, dependencies, worker, settings }),
    inject: [STORE, RunDependenciesFactory, UnitWorker, RunSettings],
  },
  {
    provide: SPREAD,
    useFactory: (desk: UnitDesk, { results }: OpenStore): Omit<SpreadTools, 'sandbox'> => ({
      desk,
      results,
      process: PROCESS_NAME,
    }),
    inject: [UnitDesk, STORE],
  },
];

/** As many as keep the scarce resource busy: one that is held and waits is one that another machine could do. */
function capacityOf({ llm, sandbox }: Config): Record<UnitKind, number> {
  return {
    // Part of a rollout's time goes into its container.
    rollout: Math.min(sandbox.idleSessions, 2 * llm.concurrency),
    verdict: llm.concurrency,
    cells: sandbox.concurrency,
  };
}
