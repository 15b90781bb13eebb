import 'reflect-metadata';
import { Inject, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { OpenStore } from './store/store.js';
import { AppModule } from './app/app.module.js';
import type { WorkerOptions } from './commands/serve.js';
import { Daemon } from './app/daemon.js';
import { watchControllers, telemetryProviders } from './http/http-controllers.js';
import { startHttp } from './http/serve.js';
import { RunService } from './runs/run-service.js';
import { UnitWorker } from './jobs/unit-worker.js';
import { STORE } from './app/job-providers.js';
import { MetricsModule } from './app/telemetry.js';

@Module({ imports: [AppModule, MetricsModule], controllers: watchControllers, providers: telemetryProviders })
class WorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly worker: UnitWorker,
    @Inject(STORE) private readonly store: OpenStore,
    private readonly daemon: Daemon,
  ) {}

  onApplicationBootstrap(): void {
    this.worker.start();
    this.daemon.tell({ store: this.store.name }, 'working');
  }
}

/**
 * Works on the runs of the store until SIGINT or SIGTERM, then hands back what is unfinished and removes its containers, within
 * bounded time. With a port it answers /healthz, /readyz and /metrics there, and nothing else.
 * @throws BadInputError for a bad setting or an unguarded address, StoreUnavailableError, ListenError
 */
export async function work({ host, port }: WorkerOptions): Promise<void> {
  const daemon = new Daemon();
  const module = { module: WorkerModule, providers: [{ provide: Daemon, useValue: daemon }] };
  if (port !== undefined) {
    const server = await startHttp(module, daemon.listening({ host, port }));
    daemon.tell({ url: server.url }, 'listening');
    return daemon.untilTold(() => server.close());
  }
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest's options are a class in name only
  const context = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  await context.get(RunService).recover();
  return daemon.untilTold(() => context.close());
}
