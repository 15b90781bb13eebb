import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { type DynamicModule, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { AppModule } from './app/app.module.js';
import { Daemon } from './app/daemon.js';
import { inRole, Role } from './app/job-providers.js';
import { MetricsModule } from './app/telemetry.js';
import { removeLeftUploads } from './app/threads/upload-folder.js';
import { VERSION } from './app/version.js';
import { printFailure } from './commands/output.js';
import type { ServeOptions } from './commands/serve.js';
import { BadInputError } from './core/errors/errors.js';
import { httpControllers, httpProviders } from './http/http-controllers.js';
import { startHttp } from './http/serve.js';
import { WorkerProcess } from './jobs/worker-process.js';
import { Exposition } from './ports/telemetry.js';

const DEFAULTS: ServeOptions = { host: '127.0.0.1', port: 8080, worker: true };

const WEB_ASSETS = fileURLToPath(new URL('./web-assets', import.meta.url));
const CLI = fileURLToPath(new URL('./cli.js', import.meta.url));

@Module({ controllers: httpControllers, providers: httpProviders })
class ServerModule implements OnApplicationBootstrap {
  constructor(
    private readonly role: Role,
    private readonly exposition: Exposition,
  ) {}

  onApplicationBootstrap(): void {
    const { worker } = this.role;
    if (worker === undefined) return;
    worker.start();
    this.exposition.also(() => worker.ask((id) => ({ say: 'metrics', id }), AbortSignal.timeout(METRICS_WITHIN_MS)));
  }
}

const METRICS_WITHIN_MS = 2_000;

/**
 * Serves HTTP until SIGINT or SIGTERM. Then its worker process hands back unfinished work and removes its containers, within a
 * time limit.
 * @param app the application module
 * @param worker the module that its worker process runs, with its arguments
 * @throws BadInputError for a bad setting, an unguarded address or a store that another service owns, StoreUnavailableError,
 * ListenError
 */
export async function serve(
  at: ServeOptions,
  app: Type | DynamicModule = AppModule,
  worker: readonly [string, ...string[]] = [CLI, 'worker', '--for-service'],
): Promise<void> {
  const daemon = new Daemon();
  await daemon.ownStore();
  if (!at.worker && daemon.config.queue === null) {
    throw new BadInputError(
      'is for workers on other machines, and they need PostgreSQL.',
      { field: '--no-worker' },
      'Set DATABASE_URL=postgresql://…, or leave it out.',
    );
  }
  await removeLeftUploads();
  const role = new Role('service', at.worker ? new WorkerProcess(worker, daemon) : undefined);
  const module = { module: ServerModule, imports: [inRole(role), app, MetricsModule] };
  const server = await startHttp(module, { ...daemon.listening(at), version: VERSION, web: WEB_ASSETS });
  const stopped = daemon.untilTold(() => server.close());
  daemon.tell({ url: server.url }, 'listening');
  await stopped;
}

if (import.meta.filename === process.argv[1]) {
  serve(DEFAULTS).catch((error: unknown) => {
    process.exitCode = printFailure(error, false);
  });
}
