import 'reflect-metadata';
import { type DynamicModule, Inject, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app/app.module.js';
import { Daemon } from './app/daemon.js';
import { inRole, Role, STORE } from './app/job-providers.js';
import { MetricsModule } from './app/telemetry.js';
import type { WorkerOptions } from './commands/serve.js';
import { BadInputError } from './core/errors/errors.js';
import { telemetryProviders, watchControllers } from './http/http-controllers.js';
import { startHttp } from './http/serve.js';
import { Jobs } from './jobs/jobs.js';
import { ServiceLink } from './jobs/worker-process.js';
import { Exposition } from './ports/telemetry.js';
import type { OpenStore } from './store/store.js';

@Module({ controllers: watchControllers, providers: telemetryProviders })
class WorkerModule implements OnApplicationBootstrap {
  constructor(
    @Inject(STORE) private readonly store: OpenStore,
    private readonly daemon: Daemon,
  ) {}

  onApplicationBootstrap(): void {
    this.daemon.tell({ store: this.store.name }, 'working');
  }
}

/**
 * Executes runs of the store until SIGINT or SIGTERM, then hands back unfinished work and removes its containers, within a time
 * limit. With a port it serves only /healthz, /readyz and /metrics there.
 * @param app the application module
 * @throws BadInputError for a bad setting, an unguarded address or an embedded store, StoreUnavailableError, ListenError
 */
export async function work(
  { host, port, forService }: WorkerOptions,
  app: Type | DynamicModule = AppModule,
): Promise<void> {
  const daemon = new Daemon();
  if (forService !== true && daemon.config.queue === null) {
    throw new BadInputError(
      'names a file, which one service has for itself.',
      { file: 'environment', field: 'DATABASE_URL' },
      'Workers share a PostgreSQL database with their services: DATABASE_URL=postgresql://…',
    );
  }
  const providers = [{ provide: Daemon, useValue: daemon }];
  const module = { module: WorkerModule, imports: [inRole(new Role('worker')), app, MetricsModule], providers };
  if (port !== undefined) {
    const server = await startHttp(module, daemon.listening({ host, port }));
    const stopped = daemon.untilTold(() => server.close());
    daemon.tell({ url: server.url }, 'listening');
    return stopped;
  }
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest's options are a class in name only
  const context = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  if (forService === true) {
    const exposition = context.get(Exposition, { strict: false });
    const link = new ServiceLink(context.get(Jobs, { strict: false }), () => exposition.counted());
    // No time limit here: the service enforces it.
    await link.untilTold();
    await context.close();
    link.close();
    return;
  }
  return daemon.untilTold(() => context.close());
}
