import { type LoggerService, Module } from '@nestjs/common';
import { InProcessRunQueue } from '../../src/adapters/in-process-run-queue.js';
import { httpControllers } from '../../src/http/http-controllers.js';
import { type HttpServer, type ServeOptions, startHttp } from '../../src/http/serve.js';
import { RunExecutor } from '../../src/pipeline/run-executor.js';
import { RunService } from '../../src/pipeline/run-service.js';
import { RunSettings } from '../../src/pipeline/run-settings.js';
import { RunQueue } from '../../src/ports/run-queue.js';
import { RunStore } from '../../src/ports/run-store.js';
import { TIMES } from '../fixtures/run-world.js';

export interface TestServer extends HttpServer {
  readonly logged: string[];
}

@Module({})
class TestModule {}

/** The HTTP service over any store and executor, on a free port. */
export async function serveRuns(
  store: RunStore,
  executor: RunExecutor,
  { apiKeys = [], host = '127.0.0.1', port = 0 }: Partial<Pick<ServeOptions, 'apiKeys' | 'host' | 'port'>> = {},
): Promise<TestServer> {
  const logged: string[] = [];
  const note = (message: unknown): void => void logged.push(String(message));
  const logger: LoggerService = { log: () => undefined, warn: note, error: note };
  const module = {
    module: TestModule,
    controllers: httpControllers,
    providers: [
      { provide: RunStore, useValue: store },
      { provide: RunExecutor, useValue: executor },
      { provide: RunQueue, useValue: new InProcessRunQueue(2) },
      { provide: RunSettings, useValue: new RunSettings(logger, TIMES) },
      RunService,
    ],
  };
  return { ...(await startHttp(module, { host, port, apiKeys, logger })), logged };
}
