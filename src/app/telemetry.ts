import { Global, Module } from '@nestjs/common';
import { serverOf } from '../models/llm-clients.js';
import { HttpModelProbe } from '../models/openai/connection.js';
import { OtelTracer } from '../telemetry/otel-tracer.js';
import { InstrumentedLlmClient, InstrumentedResultStore, InstrumentedSandbox } from '../telemetry/instrumented.js';
import type { Config } from './config.js';
import type { PriceTable } from '../core/budget/budget.js';
import type { Logger } from 'pino';
import { createLogger } from './logger.js';
import type { RunExecutor } from '../runs/run-dependencies.js';
import { InstrumentedExecutor, type Say, StageTelemetry } from '../runs/instrumented-executor.js';
import type { LlmClient, ModelProbe } from '../ports/llm-client.js';
import { Exposition, Meter, UNMETERED, type Tracer } from '../ports/telemetry.js';
import type { ResultStore } from '../ports/result-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { VERSION } from './version.js';

/** Metrics, for processes that are scraped; without this module nothing is counted and prom-client is not loaded. */
@Global()
@Module({
  providers: [
    {
      provide: Meter,
      useFactory: async () => new (await import('../telemetry/prometheus-meter.js')).PrometheusMeter(VERSION),
    },
    { provide: Exposition, useExisting: Meter },
  ],
  exports: [Meter, Exposition],
})
export class MetricsModule {}

/** How often failing model calls are noted in the log, at most. */
const NOTE_EVERY_MS = 60_000;

/** Wraps ports with metrics and traces. */
export class Telemetry {
  readonly tracer: Tracer = new OtelTracer(VERSION);
  readonly stages: StageTelemetry;
  private readonly logger: Logger;
  private readonly isService: boolean;

  /** @param meter absent = a command, which reports its run itself: the log then does so only at debug */
  constructor(
    private readonly config: Config,
    readonly meter: Meter = UNMETERED,
  ) {
    this.isService = meter !== UNMETERED;
    this.logger = createLogger(config.logLevel, config.secrets);
    this.stages = new StageTelemetry(this.tracer, this.meter);
  }

  sandbox(inner: Sandbox): Sandbox {
    return new InstrumentedSandbox(inner, this);
  }

  results(inner: ResultStore): ResultStore {
    return new InstrumentedResultStore(inner, this.meter);
  }

  /** @param create makes the client; the client calls the given function on each retry */
  llm(create: (onRetry: (reason: string) => void) => LlmClient, prices: PriceTable): LlmClient {
    const { meter, tracer, config } = this;
    let noted = Number.NEGATIVE_INFINITY;
    const inner = create((reason) => {
      meter.add('bestk_model_retries_total', { reason });
      const now = performance.now();
      if (now - noted < NOTE_EVERY_MS) return;
      noted = now;
      this.logger.warn({ reason }, 'Model calls fail and are repeated.');
    });
    return new InstrumentedLlmClient(inner, {
      meter,
      tracer,
      prices,
      serverOf: (model) => serverOf(config.llm, model),
    });
  }

  executor(inner: RunExecutor): RunExecutor {
    const { meter, tracer } = this;
    const say: Say = (facts, message) => {
      this.logger[this.isService ? 'info' : 'debug'](facts, message);
    };
    return new InstrumentedExecutor(inner, { meter, tracer, say });
  }

  /** A warning for the operator of a service; a command reports it in its output instead. */
  warn: Say = (facts, message) => {
    this.logger[this.isService ? 'warn' : 'debug'](facts, message);
  };
}

/** Probes the servers of the configured models. */
export function modelProbe({ llm, agent, tests }: Config): ModelProbe {
  const models = [llm.verifierModel, agent.model, tests.model].filter((model) => model !== undefined);
  const baseUrls = models.flatMap((model) => serverOf(llm, model) ?? []);
  return new HttpModelProbe({ baseUrls, apiKey: llm.apiKey });
}
