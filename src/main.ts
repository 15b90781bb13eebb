import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { type DynamicModule, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { AppModule } from './app/app.module.js';
import { printFailure } from './commands/answer.js';
import type { ServeOptions } from './commands/serve.js';
import { removeLeftUploads } from './app/threads/upload-folder.js';
import { Daemon } from './app/daemon.js';
import { httpControllers, telemetryProviders } from './http/http-controllers.js';
import { startHttp } from './http/serve.js';
import { UnitWorker } from './jobs/unit-worker.js';
import { VERSION } from './app/version.js';
import { MetricsModule } from './app/telemetry.js';

const DEFAULTS: ServeOptions = { host: '127.0.0.1', port: 8080 };

const WEB_ASSETS = fileURLToPath(new URL('./web-assets', import.meta.url));

@Module({ controllers: httpControllers, providers: telemetryProviders })
class ServerModule implements OnApplicationBootstrap {
  constructor(private readonly worker: UnitWorker) {}

  /** Of runs that others accepted, too. */
  onApplicationBootstrap(): void {
    this.worker.start();
  }
}

/**
 * Serves HTTP until SIGINT or SIGTERM, then hands unfinished runs back and removes its containers, within bounded time.
 * @param app what it is composed of
 * @throws BadInputError for a bad setting or an unguarded address, StoreUnavailableError, ListenError
 */
export async function serve(at: ServeOptions, app: Type | DynamicModule = AppModule): Promise<void> {
  const daemon = new Daemon();
  await removeLeftUploads();
  const module = { module: ServerModule, imports: [app, MetricsModule] };
  const server = await startHttp(module, { ...daemon.listening(at), version: VERSION, web: WEB_ASSETS });
  daemon.tell({ url: server.url }, 'listening');
  await daemon.untilTold(() => server.close());
}

if (import.meta.filename === process.argv[1]) {
  serve(DEFAULTS).catch((error: unknown) => {
    process.exitCode = printFailure(error, false);
  });
}
