import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { App } from '../commands/command.js';
import type { PriceTable } from '../core/budget/budget.js';
import { readPrices } from '../io/inputs/yaml.js';
import { LargeRuns } from '../http/runs/judge-prompt-view.js';
import { type JobHandler, Jobs } from '../jobs/jobs.js';
import { GptTokenizer, createLlmClient } from '../models/llm-clients.js';
import { Claims } from '../core/async/concurrency.js';
import { AuditLog } from '../ports/audit-log.js';
import { BenchmarkStore, ReportStore } from '../ports/benchmark-store.js';
import { HostResources, Sandbox } from '../ports/sandbox.js';
import { LlmClient, ModelProbe, Tokenizer } from '../ports/llm-client.js';
import { Meter } from '../ports/telemetry.js';
import { PromptLibrary } from '../ports/prompt-library.js';
import { ResultStore } from '../ports/result-store.js';
import { RunStore } from '../ports/run-store.js';
import { PipelineExecutor } from '../runs/execute-run.js';
import { BenchmarkIntake, BenchmarkReports, BenchmarkService } from '../runs/benchmark-service.js';
import { ReportMaker, RescoreIntake, RunIntake } from '../runs/run-intake.js';
import { JudgePrompts, RunDependenciesFactory, RunExecutor } from '../runs/run-dependencies.js';
import { RunRecovery } from '../runs/job-handlers.js';
import { RunService } from '../runs/run-service.js';
import { RunSettings, RunWorker } from '../runs/run-worker.js';
import { ContainerSweeper, StoreSweeper } from '../runs/sweep-timers.js';
import type { OpenStore } from '../store/store.js';
import { CONFIG, type Config, environmentWith, loadConfig } from './config.js';
import { HANDLERS, inRole, jobProviders, PROCESS_NAME, Role, STORE } from './job-providers.js';
import { createLogger, nestLogger } from './logger.js';
import { ConfiguredJudgePrompts } from './judge-prompts.js';
import { loadOwnVerifiers } from './own-verifiers.js';
import { ConfiguredRunDependencies, openPrompts, type RunPorts } from './create-run-dependencies.js';
import { sandboxProviders } from './sandbox-providers.js';
import { modelProbe, Telemetry } from './telemetry.js';
import { type IntakeSettings, ThreadedIntake } from './threads/threaded-intake.js';
import { ThreadedBenchmarkReports, ThreadedParts, ThreadedReports } from './threads/threaded-reports.js';
import { UploadedBenchmarks } from './threads/uploaded-benchmarks.js';
import { UploadedRuns } from './threads/uploaded-runs.js';
import { VERSION } from './version.js';

const PRICES = Symbol('PriceTable');
const PORTS = Symbol('RunPorts');

type PortsInOrder = [Sandbox, LlmClient, PromptLibrary, ResultStore, OpenStore, Tokenizer, Telemetry];
type IntakeParts = [RunService, RunStore, RunDependenciesFactory, Config];
type ExecutorParts = [RunDependenciesFactory, RunPorts, Role, Config, OpenStore, Telemetry, Jobs];

const providers: Provider[] = [
  { provide: CONFIG, useFactory: () => loadConfig() },
  {
    provide: ResultStore,
    useFactory: (store: OpenStore, telemetry: Telemetry) => telemetry.results(store.results),
    inject: [STORE, Telemetry],
  },
  {
    provide: Telemetry,
    useFactory: (config: Config, meter?: Meter) => new Telemetry(config, meter),
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
    useFactory: ({ prompts }: Config) => openPrompts(prompts),
    inject: [CONFIG],
  },
  {
    provide: LlmClient,
    useFactory: (config: Config, telemetry: Telemetry, prices: PriceTable, claims: Claims) =>
      telemetry.llm(
        (onRetry) => createLlmClient(config.llm, { onRetry, mayAsk: (signal) => claims.certain(signal) }),
        prices,
      ),
    inject: [CONFIG, Telemetry, PRICES, Claims],
  },
  ...sandboxProviders,
  { provide: Tokenizer, useFactory: () => new GptTokenizer() },
  {
    provide: PORTS,
    useFactory: (
      ...[sandbox, llm, prompts, results, { spendings }, tokenizer, { tracer }]: PortsInOrder
    ): RunPorts => ({
      sandbox,
      llm,
      prompts,
      results,
      spendings,
      tokenizer,
      tracer,
    }),
    inject: [Sandbox, LlmClient, PromptLibrary, ResultStore, STORE, Tokenizer, Telemetry],
  },
  {
    provide: RunDependenciesFactory,
    useFactory: async (config: Config, prices: PriceTable, ports: RunPorts) =>
      new ConfiguredRunDependencies(config, prices, ports, await loadOwnVerifiers(config.verifiers)),
    inject: [CONFIG, PRICES, PORTS],
  },
  {
    provide: RunExecutor,
    useFactory: (
      ...[dependencies, { sandbox, prompts }, { is }, { queue }, { runs }, telemetry, jobs]: ExecutorParts
    ) => {
      const tools = { dependencies, sandbox, prompts, version: VERSION, watch: telemetry.stages };
      const isShared = is === 'worker' && queue !== null;
      return telemetry.executor(new PipelineExecutor(isShared ? { ...tools, spread: { jobs, runs } } : tools));
    },
    inject: [RunDependenciesFactory, PORTS, Role, CONFIG, STORE, Telemetry, Jobs],
  },
  {
    provide: RunSettings,
    useFactory: (config: Config, room: HostResources) =>
      new RunSettings(nestLogger(createLogger(config.logLevel, config.secrets)), {
        room,
        drainMs: config.stop.drainS * 1000,
        process: PROCESS_NAME,
      }),
    inject: [CONFIG, HostResources],
  },
  ...jobProviders,
  RunService,
  {
    provide: RunIntake,
    useFactory: (...[runs, store, dependencies, { store: place }]: IntakeParts) => {
      const { defaults, ownVerifiers, verifierModel, agent, testModel, prices } = dependencies;
      const checks = { defaults, ownVerifiers, verifierModel, agent, testModel, prices };
      const settings = async (): Promise<IntakeSettings> => ({ place, checks, setup: await dependencies.setup() });
      return new ThreadedIntake({ runs, store, settings });
    },
    inject: [RunService, RunStore, RunDependenciesFactory, CONFIG],
  },
  {
    provide: RescoreIntake,
    useFactory: (intake: ThreadedIntake, room: HostResources) =>
      new UploadedRuns((job, stop) => intake.upload(job, stop), room),
    inject: [RunIntake, HostResources],
  },
  BenchmarkService,
  {
    provide: BenchmarkIntake,
    useFactory: (intake: ThreadedIntake, service: BenchmarkService, room: HostResources) =>
      new UploadedBenchmarks((job, stop) => intake.benchmark(job, stop), service, room),
    inject: [RunIntake, BenchmarkService, HostResources],
  },
  {
    provide: LargeRuns,
    useFactory: ({ store }: Config) => new ThreadedParts(store),
    inject: [CONFIG],
  },
  {
    provide: BenchmarkReports,
    useFactory: ({ store: place }: Config, store: BenchmarkStore, runs: RunStore) =>
      new ThreadedBenchmarkReports(place, store, runs),
    inject: [CONFIG, BenchmarkStore, RunStore],
  },
  {
    provide: JudgePrompts,
    useFactory: (config: Config, ports: RunPorts) => new ConfiguredJudgePrompts(config, ports),
    inject: [CONFIG, PORTS],
  },
  {
    provide: ReportMaker,
    useFactory: ({ store }: Config, room: HostResources) => new ThreadedReports(store, room),
    inject: [CONFIG, HostResources],
  },
];

/** The composition root: binds every port to its adapter. */
@Module({
  providers,
  exports: [
    STORE,
    RunService,
    RunWorker,
    Jobs,
    RunIntake,
    RescoreIntake,
    BenchmarkService,
    BenchmarkIntake,
    BenchmarkReports,
    JudgePrompts,
    LargeRuns,
    ReportMaker,
    ReportStore,
    AuditLog,
    RunStore,
    RunSettings,
    HostResources,
    Sandbox,
    LlmClient,
    ModelProbe,
    RunDependenciesFactory,
    CONFIG,
  ],
})
export class AppModule implements OnApplicationBootstrap, OnApplicationShutdown {
  @Inject(Role) private readonly role!: Role;
  @Inject(Jobs) private readonly jobs!: Jobs;
  @Inject(HANDLERS) private readonly handlers!: readonly JobHandler[];
  @Inject(RunWorker) private readonly worker!: RunWorker;
  @Inject(RunRecovery) private readonly recovery!: RunRecovery;
  @Inject(RunSettings) private readonly settings!: RunSettings;
  @Inject(StoreSweeper) private readonly forgetting!: StoreSweeper;
  private readonly sweeper: ContainerSweeper;

  constructor(
    @Inject(STORE) private readonly store: OpenStore,
    private readonly sandbox: Sandbox,
    private readonly runs: RunService,
    telemetry: Telemetry,
  ) {
    this.sweeper = new ContainerSweeper(sandbox, telemetry.warn);
  }

  async onApplicationBootstrap(): Promise<void> {
    // A worker process also does this for its service.
    if (this.role.is !== 'service') this.sweeper.start();
    if (this.role.worker === undefined) this.forgetting.start();
    if (this.role.is !== 'worker') return;
    await this.jobs.start(this.handlers);
    await this.recovery.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.sweeper.stop();
    this.forgetting.stop();
    this.recovery.stop();
    this.runs.close();
    await this.role.worker?.close();
    await this.jobs.close(this.settings.drainMs);
    await this.worker.releaseAll();
    await this.sandbox.closeAll();
    await this.store.close();
  }
}

@Module({})
class CommandModule {}

/**
 * The application without a server, for one command.
 * @param settings override the environment's
 * @throws BadInputError for a bad setting, StoreUnavailableError
 */
export async function openApplication(settings: Readonly<Record<string, string>> = {}): Promise<App> {
  const given = { provide: CONFIG, useFactory: () => loadConfig(environmentWith(settings)) };
  const app = { module: AppModule, providers: [given] };
  const module = { module: CommandModule, imports: [inRole(new Role('command')), app] };
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest's options are a class in name only
  const context = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  const config = context.get<Config>(CONFIG);
  const dependencies = context.get(RunDependenciesFactory);
  return {
    runs: context.get(RunService),
    worker: context.get(RunWorker),
    sandbox: context.get(Sandbox),
    dependencies,
    room: context.get(HostResources),
    llm: context.get(LlmClient),
    storePath: context.get<OpenStore>(STORE).name,
    verifierModel: config.llm.verifierModel ?? null,
    testModel: config.tests.model ?? null,
    agentModel: config.agent.model ?? null,
    replaying: config.llm.replay !== undefined,
    setup: () => dependencies.setup(),
    close: () => context.close(),
  };
}
