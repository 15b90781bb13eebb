import { NestFactory } from '@nestjs/core';
import type { OpenStore } from './adapters/store.js';
import { AppModule } from './app.module.js';
import type { App } from './commands/app.js';
import { CONFIG, type Config } from './config.js';
import { RunKitFactory } from './pipeline/run-kit.js';
import { RunService } from './pipeline/run-service.js';
import { LlmClient } from './ports/llm-client.js';
import { MachineRoom } from './ports/machine-room.js';
import { Sandbox } from './ports/sandbox.js';
import { STORE } from './spread-providers.js';

/** The application without a server, for one command. @throws BadInputError for a bad setting, StoreUnavailableError */
export async function openApplication(): Promise<App> {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest's options are a class in name only
  const context = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  const config = context.get<Config>(CONFIG);
  return {
    runs: context.get(RunService),
    sandbox: context.get(Sandbox),
    kits: context.get(RunKitFactory),
    room: context.get(MachineRoom),
    llm: context.get(LlmClient),
    storePath: context.get<OpenStore>(STORE).name,
    verifierModel: config.llm.verifierModel ?? null,
    agentModel: config.agent.model ?? null,
    replaying: config.llm.replay !== undefined,
    close: () => context.close(),
  };
}
