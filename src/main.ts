import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { type DynamicModule, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { printFailure } from './commands/answer.js';
import { stopWithin, untilTold } from './commands/stopping.js';
import type { ServeOptions } from './commands/serve.js';
import { loadConfig } from './config.js';
import type { AuditEntry } from './http/audit.js';
import { httpControllers, watchProviders } from './http/http-controllers.js';
import { startHttp } from './http/serve.js';
import { UnitWorker } from './pipeline/unit-worker.js';
import { createLogger, nestLogger } from './logger.js';
import { VERSION } from './version.js';
import { MetricsModule } from './watching.js';

const DEFAULTS: ServeOptions = { host: '127.0.0.1', port: 8080 };

const WEB_ASSETS = fileURLToPath(new URL('./web-assets', import.meta.url));

@Module({ controllers: httpControllers, providers: watchProviders })
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
export async function serve({ host, port }: ServeOptions, app: Type | DynamicModule = AppModule): Promise<void> {
  const config = loadConfig();
  const logger = createLogger(config.logLevel, config.secrets);
  const { apiKeys, rateLimit, secrets } = config;
  const audit = (entry: AuditEntry): void => {
    logger.info({ audit: entry }, 'audit');
  };
  const told = { version: VERSION, logger: nestLogger(logger), audit, web: WEB_ASSETS };
  const options = { host, port, apiKeys, rateLimit, secrets, ...told };
  const server = await startHttp({ module: ServerModule, imports: [app, MetricsModule] }, options);
  logger.info({ url: server.url }, 'listening');
  const signal = await untilTold();
  logger.info({ signal }, 'stopping');
  await stopWithin(
    config.stop.drainS + config.stop.limitS,
    () => server.close(),
    (why) => {
      logger.error({ why }, 'ending without having stopped');
    },
  );
  logger.info('stopped');
}

if (import.meta.filename === process.argv[1]) {
  serve(DEFAULTS).catch((error: unknown) => {
    process.exitCode = printFailure(error, false);
  });
}
