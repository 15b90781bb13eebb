import { rangeOf } from '../../../src/core/budget/budget.js';
import { RunNotFoundError } from '../../../src/core/errors/errors.js';
import { MemoryAuditLog } from '../../fakes/memory-audit-log.js';
import { MemoryReportStore } from '../../fakes/memory-report-store.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { type LoggerService, Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { BestkClient } from '../../../examples/client/bestk-client.js';
import { benchmarkHandler } from '../../../src/benchmarks/driver.js';
import { StoredBenchmarkReports } from '../../../src/benchmarks/stored-reports.js';
import { Wakeup } from '../../../src/core/async/time.js';
import { type JobHandler, Jobs } from '../../../src/jobs/jobs.js';
import { PlainJobs } from '../../../src/jobs/plain-jobs.js';
import { PrometheusMeter } from '../../../src/telemetry/prometheus-meter.js';
import type { AuditedRequest } from '../../../src/http/ops/audit.js';
import { httpControllers, httpProviders } from '../../../src/http/http-controllers.js';
import { openRun } from '../../../src/http/runs/evidence-of-run.js';
import { LargeRuns, type PartJob, partOf } from '../../../src/http/runs/judge-prompt-view.js';
import { type HttpServer, type ServeOptions, startHttp } from '../../../src/http/serve.js';
import { makeRunReport } from '../../../src/app/threads/stored-run-reports.js';
import { LARGEST_UPLOAD, reportLines } from '../../../src/app/threads/threaded-reports.js';
import { readUpload, withUpload } from '../../../src/app/threads/upload-folder.js';
import {
  type BenchmarkJob,
  takeBenchmark,
  type TakenBenchmark,
  UploadedBenchmarks,
} from '../../../src/app/threads/uploaded-benchmarks.js';
import { takeUpload, UploadedRuns } from '../../../src/app/threads/uploaded-runs.js';
import {
  type AskedPrompts,
  type Asking,
  type JudgedBefore,
  JudgePrompts,
  RunDependenciesFactory,
  RunExecutor,
} from '../../../src/runs/run-dependencies.js';
import { BenchmarkIntake, BenchmarkReports, BenchmarkService } from '../../../src/runs/benchmark-service.js';
import {
  type Accept,
  PlainRunIntake,
  type ReportMade,
  ReportMaker,
  RescoreIntake,
  RunIntake,
} from '../../../src/runs/run-intake.js';
import { RunRecovery, runHandler } from '../../../src/runs/job-handlers.js';
import { RunSettings, RunWorker } from '../../../src/runs/run-worker.js';
import { RunService } from '../../../src/runs/run-service.js';
import { BOUNDLESS, type HostResources, Sandbox } from '../../../src/ports/sandbox.js';
import { Exposition, Meter } from '../../../src/ports/telemetry.js';
import { ModelProbe } from '../../../src/ports/llm-client.js';
import { AuditLog } from '../../../src/ports/audit-log.js';
import { BenchmarkStore, ReportStore } from '../../../src/ports/benchmark-store.js';
import { RunStore } from '../../../src/ports/run-store.js';
import { Settings } from '../../../src/app/settings.js';
import { exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { NoBenchmarks } from '../../fakes/no-benchmarks.js';
import { TIMES } from '../../fixtures/run-world.js';
import { checkedFetch } from './checked-fetch.js';

export interface TestServer extends HttpServer {
  readonly logged: string[];
  readonly audited: AuditedRequest[];
  /** The client that is made from the OpenAPI document; it takes no answer that the document does not describe. */
  readonly client: BestkClient;
  /** What the router of the running service holds. */
  routes(): { method: string; path: string }[];
}

/** Settings under which both kinds of verifiers are there, and no run can be made. */
export class NoRunDependencies extends RunDependenciesFactory {
  readonly defaults = ['ef', 'eb'] as const;
  readonly ownVerifiers = [];
  readonly verifierModel = 'judge';
  readonly testModel = null;
  readonly prices = {};
  readonly agent = null;
  /** Nobody is. */
  asking(): Promise<Asking> {
    const none = { calls: rangeOf(0), prompt: rangeOf(0), answer: rangeOf(0) };
    return Promise.resolve({ judge: () => none, summary: none, progress: null, tests: null });
  }
  agentsOf(): [] {
    return [];
  }
  setup(): Promise<string> {
    return Promise.resolve('none');
  }
  create(): never {
    throw new Error('No run is made here.');
  }
  complete(): never {
    throw new Error('No model is asked here.');
  }
}

@Module({})
class TestModule {}

/** As the thread of a service reads them. */
class LargeRunsHere extends LargeRuns {
  constructor(private readonly runs: RunStore) {
    super();
  }

  async read(job: PartJob): Promise<Uint8Array> {
    const run = await this.runs.get(job.id);
    if (run === null) throw RunNotFoundError.forRun(job.id);
    const part = partOf(openRun(run), job);
    return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part));
  }
}

/** The words of the candidate, without a template. */
class ReportsHere extends ReportMaker {
  constructor(private readonly tools: Parameters<typeof makeRunReport>[2]) {
    super();
  }

  override async make(...[upload, wish, left]: Parameters<ReportMaker['make']>): Promise<ReportMade> {
    const received = { upload, gzip: wish.gzip, largest: LARGEST_UPLOAD, room: BOUNDLESS };
    return withUpload(received, left, async (file) =>
      makeRunReport(await reportLines(readUpload(file, LARGEST_UPLOAD)), wish, this.tools),
    );
  }
}

class PlainPrompts extends JudgePrompts {
  async of({ issue, candidates: [candidate] }: JudgedBefore): Promise<AskedPrompts> {
    const patch = candidate?.patch ?? '';
    if (patch === '') return { prompts: [], hash: null };
    return { prompts: [[{ role: 'user', content: `${issue.problem_statement}\n${patch}` }]], hash: 'plain' };
  }
}

class AnsweringModels extends ModelProbe {
  async check(): Promise<void> {
    return;
  }
}

interface Router {
  readonly stack: readonly { route?: { path: string; methods: Readonly<Record<string, boolean>> } }[];
}

function routesOf({ stack }: Router): { method: string; path: string }[] {
  return stack.flatMap(({ route }) =>
    route === undefined ? [] : Object.keys(route.methods).map((method) => ({ method, path: route.path })),
  );
}

type TestServerOptions = Partial<Omit<ServeOptions, 'apiKeys'>> & {
  readonly apiKeys?: readonly string[];
  readonly sandbox?: Sandbox;
  readonly models?: ModelProbe;
  readonly auditLog?: AuditLog;
  readonly reports?: ReportStore;
  /** Of the same store as the runs; absent = there are none. */
  readonly benchmarks?: BenchmarkStore;
  readonly room?: HostResources;
  readonly dependencies?: RunDependenciesFactory;
  /** Whether it takes up runs that nobody works on. */
  readonly recovers?: boolean;
};

function submitting(runs: RunService): Accept {
  return (key, request, { submitter }) => runs.submit(key, request, submitter);
}

/** What a server has that is told nothing. */
const PLAIN = { benchmarks: new NoBenchmarks(), room: BOUNDLESS, dependencies: new NoRunDependencies() };

/** The HTTP service over any store and executor, on a free port. */
export async function serveRuns(
  store: RunStore,
  executor: RunExecutor,
  { apiKeys = [], sandbox, models, auditLog, reports, recovers = false, ...more }: TestServerOptions = {},
): Promise<TestServer> {
  const { benchmarks, room, dependencies, ...options } = { ...PLAIN, ...more };
  const logged: string[] = [];
  const containers = sandbox ?? new FakeSandbox(() => exited(0));
  const note = (message: unknown): void => void logged.push(String(message));
  const logger: LoggerService = { log: () => undefined, warn: note, error: note };
  let router: Router = { stack: [] };
  const module = {
    module: TestModule,
    controllers: httpControllers,
    providers: [
      { provide: RunStore, useValue: store },
      { provide: RunExecutor, useValue: executor },
      { provide: RunDependenciesFactory, useValue: dependencies },
      {
        provide: Jobs,
        useValue: new PlainJobs(new MemoryResultStore(), (_, error) => {
          note(error);
        }),
      },
      { provide: RunSettings, useValue: new RunSettings(logger, { ...TIMES, room }) },
      RunService,
      {
        provide: 'worker',
        useFactory: (jobs: Jobs, settings: RunSettings) => {
          const worker = new RunWorker({ store, executor, settings, owner: 'test/1', isAlive: () => true });
          const ended = new Wakeup();
          const handler = { ...runHandler(worker, executor, settings, ended), atOnce: 4, atOnceOfLine: 2 };
          const recovery = new RunRecovery({ store, executor, jobs, settings, benchmarks });
          const results = new MemoryResultStore();
          const setup = (): Promise<string> => executor.setup();
          const driver = benchmarkHandler({
            benchmarks,
            runs: store,
            results,
            sandbox: containers,
            jobs,
            ended,
            setup,
          });
          return {
            async onApplicationBootstrap() {
              await jobs.start([handler, driver] as readonly JobHandler[]);
              if (recovers) await recovery.start();
            },
            async onApplicationShutdown() {
              recovery.stop();
              await jobs.close(0);
              await worker.releaseAll();
            },
          };
        },
        inject: [Jobs, RunSettings],
      },
      ...httpProviders,
      { provide: Meter, useFactory: () => new PrometheusMeter('0.0.0-test', false) },
      { provide: Exposition, useExisting: Meter },
      { provide: Sandbox, useValue: containers },
      { provide: ModelProbe, useValue: models ?? new AnsweringModels() },
      {
        provide: RescoreIntake,
        useFactory: (runs: RunService) => {
          const accept = submitting(runs);
          const checks = new NoRunDependencies();
          return new UploadedRuns(
            async (job) => takeUpload(job, accept, { checks, setup: await executor.setup() }),
            room,
          );
        },
        inject: [RunService],
      },
      {
        provide: RunIntake,
        useFactory: (runs: RunService) => new PlainRunIntake(submitting(runs), store),
        inject: [RunService],
      },
      { provide: BenchmarkStore, useValue: benchmarks },
      BenchmarkService,
      {
        provide: BenchmarkIntake,
        useFactory: (runs: RunService, service: BenchmarkService) => {
          const accept: Accept = async (...[key, request, how]) =>
            runs.accept(key, request, { ...how, setup: await executor.setup() });
          const take = async (job: BenchmarkJob): Promise<TakenBenchmark> =>
            takeBenchmark(job, benchmarks, accept, { checks: dependencies, setup: await executor.setup() });
          return new UploadedBenchmarks(take, service, room);
        },
        inject: [RunService, BenchmarkService],
      },
      { provide: BenchmarkReports, useFactory: () => new StoredBenchmarkReports(benchmarks, store) },
      { provide: JudgePrompts, useClass: PlainPrompts },
      { provide: LargeRuns, useValue: new LargeRunsHere(store) },
      { provide: ReportStore, useValue: reports ?? new MemoryReportStore() },
      { provide: AuditLog, useValue: auditLog ?? new MemoryAuditLog() },
      {
        provide: ReportMaker,
        useFactory: (runs: RunService, store: ReportStore) => new ReportsHere({ runs, store }),
        inject: [RunService, ReportStore],
      },
      {
        provide: 'router',
        useFactory: ({ httpAdapter }: HttpAdapterHost) => {
          router = httpAdapter.getInstance<{ router: Router }>().router;
        },
        inject: [HttpAdapterHost],
      },
    ],
  };
  const audited: AuditedRequest[] = [];
  const given = { host: '127.0.0.1', port: 0, rateLimit: 100_000, secrets: [], version: '0.0.0', ...options };
  const keys = Settings.shape.BESTK_API_KEYS.parse(apiKeys.join(','));
  const audit = (entry: AuditedRequest): void => void audited.push(entry);
  const server = await startHttp(module, { ...given, apiKeys: keys, logger, audit });
  const client = new BestkClient(server.url, { fetch: checkedFetch });
  return { ...server, logged, audited, client, routes: () => routesOf(router) };
}
