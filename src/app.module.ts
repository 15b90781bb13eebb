import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import { GptTokenizer } from './adapters/gpt-tokenizer.js';
import { InProcessRunQueue } from './adapters/in-process-run-queue.js';
import { MarkdownPromptLibrary } from './adapters/markdown-prompt-library.js';
import { createLlmClient } from './adapters/llm-clients.js';
import type { OpenStore } from './adapters/store.js';
import { CONFIG, loadConfig, type Config } from './config.js';
import type { PriceTable } from './core/budget.js';
import { readPrices } from './formats/read-prices.js';
import { createLogger, nestLogger } from './logger.js';
import { PipelineExecutor } from './pipeline/execute-run.js';
import { ContainerSweeper } from './pipeline/container-sweeper.js';
import { RunExecutor } from './pipeline/run-executor.js';
import { RunService } from './pipeline/run-service.js';
import { RunSettings } from './pipeline/run-settings.js';
import { JobThreads } from './commands/job-threads.js';
import { ThreadedReports } from './commands/threaded-reports.js';
import { type UploadJob, UploadedRuns } from './commands/uploaded-runs.js';
import { JudgePrompts } from './pipeline/judge-prompts.js';
import { ReportMaker } from './pipeline/report-maker.js';
import { RescoreIntake } from './pipeline/rescore-intake.js';
import { RunKitFactory } from './pipeline/run-kit.js';
import type { SpreadTools } from './pipeline/run-spread.js';
import { StoreSweeper } from './pipeline/store-sweeper.js';
import { UnitWorker } from './pipeline/unit-worker.js';
import { AuditLog } from './ports/audit-log.js';
import { LlmClient } from './ports/llm-client.js';
import { MachineRoom } from './ports/machine-room.js';
import { Meter } from './ports/meter.js';
import { ModelProbe } from './ports/model-probe.js';
import { PromptLibrary } from './ports/prompt-library.js';
import { ReportStore } from './ports/report-store.js';
import { ResultStore } from './ports/result-store.js';
import { RunQueue } from './ports/run-queue.js';
import { RunStore } from './ports/run-store.js';
import { Sandbox } from './ports/sandbox.js';
import { Tokenizer } from './ports/tokenizer.js';
import type { ImportSummary } from './reports/write-import.js';
import { ConfiguredJudgePrompts, ConfiguredKits, type KitPorts } from './run-kits.js';
import { sandboxProviders } from './sandbox-providers.js';
import { PROCESS_NAME, SPREAD, spreadProviders, STORE } from './spread-providers.js';
import { VERSION } from './version.js';
import { modelProbe, Watching } from './watching.js';

const PRICES = Symbol('PriceTable');
const PORTS = Symbol('KitPorts');
const RUNS_AT_ONCE = 4;
/** How long the work of a killed process waits before another takes it up. */
const LEASE_MS = 6_000;

type ImportThreads = JobThreads<UploadJob, ImportSummary>;
type PortsInOrder = [Sandbox, LlmClient, PromptLibrary, ResultStore, Tokenizer, Watching];

const providers: Provider[] = [
  { provide: CONFIG, useFactory: () => loadConfig() },
  {
    provide: ResultStore,
    useFactory: (store: OpenStore, watching: Watching) => watching.results(store.results),
    inject: [STORE, Watching],
  },
  {
    provide: Watching,
    useFactory: (config: Config, meter?: Meter) => new Watching(config, meter),
    inject: [CONFIG, { token: Meter, optional: true }],
  },
  { provide: ModelProbe, useFactory: (config: Config) => modelProbe(config), inject: [CONFIG] },
  {
    provide: PRICES,
    useFactory: (config: Config) => (config.prices === undefined ? {} : readPrices(config.prices)),
    inject: [CONFIG],
  },
  {
    provide: PromptLibrary,
    useFactory: ({ criteria }: Config) => new MarkdownPromptLibrary(undefined, criteria),
    inject: [CONFIG],
  },
  {
    provide: LlmClient,
    useFactory: (config: Config, watching: Watching, prices: PriceTable) =>
      watching.llm((onRetry) => createLlmClient(config.llm, onRetry), prices),
    inject: [CONFIG, Watching, PRICES],
  },
  { provide: RunQueue, useFactory: () => new InProcessRunQueue(RUNS_AT_ONCE) },
  ...sandboxProviders,
  { provide: Tokenizer, useFactory: () => new GptTokenizer() },
  {
    provide: PORTS,
    useFactory: (...[sandbox, llm, prompts, results, tokenizer, { tracer }]: PortsInOrder): KitPorts => ({
      sandbox,
      llm,
      prompts,
      results,
      tokenizer,
      tracer,
    }),
    inject: [Sandbox, LlmClient, PromptLibrary, ResultStore, Tokenizer, Watching],
  },
  {
    provide: RunKitFactory,
    useFactory: (config: Config, prices: PriceTable, ports: KitPorts) => new ConfiguredKits(config, prices, ports),
    inject: [CONFIG, PRICES, PORTS],
  },
  {
    provide: RunExecutor,
    useFactory: (kits: RunKitFactory, ports: KitPorts, spread: Omit<SpreadTools, 'sandbox'>, watching: Watching) => {
      const { sandbox, prompts } = ports;
      const tools = { kits, sandbox, prompts, version: VERSION, spread, watch: watching.stages };
      return watching.executor(new PipelineExecutor(tools));
    },
    inject: [RunKitFactory, PORTS, SPREAD, Watching],
  },
  {
    provide: RunSettings,
    useFactory: (config: Config, room: MachineRoom) =>
      new RunSettings(nestLogger(createLogger(config.logLevel, config.secrets)), {
        room,
        leaseMs: LEASE_MS,
        drainMs: config.stop.drainS * 1000,
        process: PROCESS_NAME,
      }),
    inject: [CONFIG, MachineRoom],
  },
  ...spreadProviders,
  RunService,
  {
    provide: JobThreads,
    useFactory: (): ImportThreads => new JobThreads(new URL('./import-thread.js', import.meta.url)),
  },
  {
    provide: RescoreIntake,
    useFactory: (runs: RunService, kits: RunKitFactory, room: MachineRoom, imports: ImportThreads) =>
      new UploadedRuns(runs, kits, room, (job) => imports.run(job)),
    inject: [RunService, RunKitFactory, MachineRoom, JobThreads],
  },
  {
    provide: JudgePrompts,
    useFactory: (config: Config, ports: KitPorts) => new ConfiguredJudgePrompts(config, ports),
    inject: [CONFIG, PORTS],
  },
  {
    provide: ReportMaker,
    useFactory: ({ store }: Config) => new ThreadedReports(new URL('./report-thread.js', import.meta.url), store),
    inject: [CONFIG],
  },
];

/** The composition root: binds every port to its adapter. */
@Module({
  providers,
  exports: [
    STORE,
    RunService,
    UnitWorker,
    RescoreIntake,
    JudgePrompts,
    ReportMaker,
    ReportStore,
    AuditLog,
    RunStore,
    RunSettings,
    MachineRoom,
    Sandbox,
    LlmClient,
    ModelProbe,
    RunKitFactory,
    CONFIG,
  ],
})
export class AppModule implements OnApplicationBootstrap, OnApplicationShutdown {
  @Inject(UnitWorker) private readonly worker!: UnitWorker;
  @Inject(StoreSweeper) private readonly forgetting!: StoreSweeper;
  private readonly sweeper: ContainerSweeper;

  constructor(
    @Inject(STORE) private readonly store: OpenStore,
    private readonly sandbox: Sandbox,
    private readonly runs: RunService,
    watching: Watching,
  ) {
    this.sweeper = new ContainerSweeper(sandbox, watching.warn);
  }

  onApplicationBootstrap(): void {
    this.sweeper.start();
    this.forgetting.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.sweeper.stop();
    this.forgetting.stop();
    // Runs that may still finish need their units to be done.
    await this.runs.shutdown();
    await this.worker.shutdown();
    await this.sandbox.closeAll();
    await this.store.close();
  }
}
