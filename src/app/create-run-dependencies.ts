import { randomBytes } from 'node:crypto';
import { pause } from '../core/async/time.js';
import { FairSemaphore, SingleFlight, WarmStarts } from '../core/async/concurrency.js';
import {
  BudgetedLlmClient,
  endpointName,
  GptTokenizer,
  type Payments,
  StoredLlmClient,
} from '../models/llm-clients.js';
import { MarkdownPromptLibrary } from '../models/prompts/prompt-library.js';
import { createAgentTestWriter } from '../agent/test-writing-agent.js';
import { systemPrompt } from '../agent/call-formats/action-format.js';
import { ACTION_FORMATS } from '../agent/call-formats/formats.js';
import { createInspector, createSampler, GRACE, type Sampler } from '../agent/rollout.js';
import type { AgentSettings, RolloutTask } from '../agent/loop/rollout-task.js';
import { AGENT_TEMPERATURE, agentsOfWork, settingsOfAgents } from './agent-settings.js';
import { loadConfig, type Config } from './config.js';
import type { Converse } from '../reports/exports/export-rows.js';
import { type PriceTable, BudgetLedger, rangeOf } from '../core/budget/budget.js';
import { contentKey } from '../core/identifier.js';
import type { Inspect, LookAtBase } from '../core/run/rollout.js';
import { judgeNamed, type Observe, type VerifierName } from '../core/run/verifier.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { AgentDescription } from '../core/run/run-result.js';
import type { TestWriter } from '../core/run/generated-test.js';
import { modelsOf } from '../runs/check-request.js';
import {
  type Accounted,
  type Asking,
  type Elsewhere,
  type RunDependencies,
  RunDependenciesFactory,
  type RunWork,
} from '../runs/run-dependencies.js';
import type { Completion, CompletionRequest, LlmClient, RemoteCall, Tokenizer } from '../ports/llm-client.js';
import type { PromptLibrary } from '../ports/prompt-library.js';
import type { ResultStore, SpendingStore } from '../ports/result-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import type { Tracer } from '../ports/telemetry.js';
import { ThreadedRecords } from './threads/threaded-readers.js';
import { readTrajectory } from '../io/saved-runs/import-runs.js';
import { VERSION } from './version.js';
import {
  createBaseLook,
  createCellWorker,
  createProgressJudge,
  createSourceReader,
  createRetelling,
  createTestWriter,
  createVerifiers,
  harvestedTests,
  progressCalls,
  summaryCalls,
  testCalls,
  JUDGE_DEFAULTS,
  type JudgeOptions,
  type OwnVerifiers,
  lackOfVerdict,
  type CountedJudge,
  judgeCalls,
  promptOfModel,
  trainingConversation,
} from '../../verifiers/index.js';

const NONCE_BYTES = 24;
/** The judge ends a running rollout when its P(YES) falls below this. */
const HOPELESS = 0.02;
/** Characters of the settings hash: enough to tell settings apart; part of queue names. */
const SETUP_LETTERS = 12;
const UNLIMITED = { tokens: null, usd: null, seconds: null };
/** Share of a budget that the agent leaves to the judge and the test writer. */
const JUDGE_SHARE = 0.2;

/** Share of an agent's steps for inspecting a patch as judge. */
const LOOK_SHARE = 0.5;

export interface RunPorts {
  readonly sandbox: Sandbox;
  readonly llm: LlmClient;
  readonly prompts: PromptLibrary;
  readonly results: ResultStore;
  readonly spendings: SpendingStore;
  readonly tokenizer: Tokenizer;
  readonly tracer: Tracer;
}

/** Run dependencies built from the settings: the verifiers, the agent, and an account of their model calls. */
export class ConfiguredRunDependencies extends RunDependenciesFactory {
  readonly verifierModel: string | null;
  readonly testModel: string | null;
  readonly defaults: readonly VerifierName[];
  readonly ownVerifiers: readonly VerifierName[];
  readonly agent: AgentDescription | null;
  private readonly payments: Payments = new SingleFlight();
  private readonly stored: LlmClient;
  private readonly records = new ThreadedRecords();
  private named: Promise<string> | null = null;
  /** Two runs may ask for the same rollout at once, and a run's next owner for what this process already started. */
  private readonly oneOfEach = new FairSemaphore(Number.MAX_SAFE_INTEGER, 1);

  constructor(
    private readonly config: Config,
    readonly prices: PriceTable,
    private readonly ports: RunPorts,
    private readonly own: OwnVerifiers = new Map(),
  ) {
    super();
    this.ownVerifiers = [...own.keys()];
    this.verifierModel = config.llm.verifierModel ?? null;
    this.testModel = config.tests.model ?? null;
    this.defaults = this.verifierModel === null ? ['eb'] : ['ef', 'eb'];
    this.agent = this.agentsOf({ agent: null, agents: null })[0] ?? null;
    this.stored = this.storing();
  }

  override agentsOf(asked: Pick<RunRequest, 'agent' | 'agents'>): readonly AgentDescription[] {
    return settingsOfAgents(this.config, asked).map(({ name, settings }) => {
      const { model, endpoint, temperature, topP: top_p = null, limits, prompt = null, command = null } = settings;
      const format = command === null ? settings.format : 'command';
      return { name, model, endpoint, format, temperature, top_p, limits, prompt, command };
    });
  }

  override async asking(): Promise<Asking> {
    const { judge, tests, agent } = this.config;
    const criteria = await this.ports.prompts.criteria();
    const { max_tokens: context, max_answer_tokens: answer, max_steps_absolute: most } = agent.limits;
    const steps = stepsOfLook(agent.limits);
    const counted = (model: string | null): CountedJudge => ({
      ...JUDGE_DEFAULTS,
      ...judge,
      prompt: judge.prompt ?? promptOfModel(model ?? this.verifierModel ?? ''),
      criteria: { all: criteria.length, ofPatch: criteria.filter(({ needsSteps }) => !needsSteps).length },
      look: { calls: rangeOf(1, Math.ceil(steps / 2), steps + GRACE), context, answer },
    });
    const written = testCalls(tests, {
      calls: rangeOf(1, Math.min(agent.limits.max_steps, most), most),
      context,
      answer,
    });
    const { checkEvery: every } = agent;
    return {
      judge: (name, pool) => {
        const { method, model } = judgeNamed(name) ?? { method: 'yes-no', model: null };
        return judgeCalls(method, counted(model), pool);
      },
      summary: summaryCalls(counted(null)),
      progress: every === undefined || this.verifierModel === null ? null : { ...progressCalls(counted(null)), every },
      tests: this.testModel === null ? null : written,
    };
  }

  override setup(): Promise<string> {
    this.named ??= this.nameOfSettings();
    return this.named;
  }

  private async nameOfSettings(): Promise<string> {
    const { sandbox, prompts } = this.ports;
    const { judge, llm, agent, tests, regressionS } = this.config;
    const models = modelsOf(this, { agent: null, agents: null, candidates: null, tests: null }, ['ef', 'eb']);
    const settings = {
      judge,
      agent,
      tests,
      regressionS,
      verifier: this.verifierModel,
      own: this.ownVerifiers,
      models,
      // The last one answers for models that only a request names.
      endpoints: [...models, ''].map((model) => endpointName(llm, model)),
      servers: llm.modelUrls,
      prices: this.prices,
      limits: sandbox.limits,
    };
    return contentKey({ version: VERSION, settings, prompts: await prompts.hashes() }).slice(0, SETUP_LETTERS);
  }

  override complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    return this.stored.complete(request, signal);
  }

  private storing(elsewhere?: RemoteCall, watch?: Observe['call']): StoredLlmClient {
    const { llm, results } = this.ports;
    const endpointOf = (name: string): string => endpointName(this.config.llm, name);
    return new StoredLlmClient(llm, results, endpointOf, { payments: this.payments, elsewhere, watch });
  }

  override create(observe: Observe, work: RunWork, elsewhere: Elsewhere = {}): RunDependencies {
    const { sandbox, prompts, results, tokenizer, tracer } = this.ports;
    const { judge } = this.config;
    const { model: testModel, harvest } = this.config.tests;
    const ledger = this.ledgerOf(work);
    const stored = this.storing(elsewhere.call, observe.call?.bind(observe));
    const llm = new BudgetedLlmClient(stored, ledger);
    const sources = createSourceReader({ sandbox, results, executes: this.executes(work) });
    const asking = { ...JUDGE_DEFAULTS, ...judge, llm, prompts, tokenizer, tracer, sources };
    const judgeOf = (named: string | null): typeof asking & Pick<JudgeOptions, 'model' | 'prompt'> => {
      const model = named ?? this.verifierModel ?? '';
      return { ...asking, model, prompt: judge.prompt ?? promptOfModel(model) };
    };
    const { read } = this.records;
    const { regressionS } = this.config;
    const executing = { sandbox, results, tracer, nonce: newNonce, pause, tries: work.tries, read, regressionS };
    const remote = elsewhere.cells;
    const absorb = ({ usage, spent }: Accounted): void => {
      stored.addUsage(usage);
      ledger.add(spent);
    };
    const inspect = this.inspector(llm, ledger, work);
    const { format, limits } = this.config.agent;
    const system = systemPrompt(ACTION_FORMATS[format], 'judge');
    const steps = stepsOfLook(limits);
    const { checkEvery: every } = this.config.agent;
    const looksOn = every !== undefined && this.verifierModel !== null;
    const progress = looksOn ? { every, score: createProgressJudge(judgeOf(null)) } : null;
    const tools = {
      judge: judgeOf,
      agent: {
        inspect: elsewhere.inspect ?? inspect,
        system,
        steps,
        actionS: limits.action_s,
        harvested: harvest > 0,
      },
      executionBased: { ...executing, observe, remote },
      own: this.own,
      ports: { llm, sandbox, prompts, results },
    };
    return {
      inspect,
      testWriter: testModel === undefined ? null : this.testWriter(llm, ledger, testModel),
      progress,
      retell: createRetelling(judgeOf(this.verifierModel ?? this.agentsOf(agentsOfWork(work))[0]?.model ?? null)),
      harvest: (candidates) => (harvest === 0 ? [] : harvestedTests(candidates, harvest)),
      verifiers: (names) => createVerifiers(names, tools),
      sampler: this.sampler(llm, ledger, { progress, look: createBaseLook({ ...executing, remote }) }, work),
      ledger,
      results,
      usage: () => stored.usage(),
      cells: createCellWorker(executing),
      absorb,
    };
  }

  private executes({ verifiers }: RunWork): boolean {
    return (verifiers ?? this.defaults).includes('eb');
  }

  private inspector(llm: LlmClient, ledger: BudgetLedger, { tries, warm }: RunWork): Inspect {
    const { format, limits } = this.config.agent;
    const settingsOf = (model: string): AgentSettings => {
      const endpoint = endpointName(this.config.llm, model);
      return { model, endpoint, format, temperature: AGENT_TEMPERATURE, limits, lacking: lackOfVerdict };
    };
    const charge: RolloutTask['onKnown'] = (asked, spent) => ledger.charge(asked, spent);
    const tools = { ...this.ports, llm, tries, oneOfEach: this.oneOfEach };
    return createInspector(tools, settingsOf, charge, warm?.of('an inspection'));
  }

  private ledgerOf({ runId, part, budget, verifiers }: RunWork): BudgetLedger {
    const asked = { agent: null, agents: null, candidates: [], tests: null };
    const others = modelsOf(this, asked, verifiers ?? this.defaults);
    // Checks of running rollouts also use the judge's model, whichever judges the result.
    const looksOn = this.config.agent.checkEvery !== undefined && this.verifierModel !== null;
    const agentShare = others.length === 0 && !looksOn ? 1 : 1 - JUDGE_SHARE;
    const limited = budget !== null && (budget.tokens !== null || budget.usd !== null);
    const spendings = limited ? this.ports.spendings.of(runId, part) : null;
    return new BudgetLedger(budget ?? UNLIMITED, this.prices, agentShare, spendings);
  }

  private testWriter(llm: LlmClient, ledger: BudgetLedger, model: string): TestWriter {
    const { author, samples, count, holding, rounds } = this.config.tests;
    const { sandbox, prompts } = this.ports;
    const single = createTestWriter({ samples, count, holding, rounds, llm, prompts, sandbox, model });
    if (author === 'single') return single;
    const asked = { prompt: 'agent/test-author', count } as const;
    const { format, limits } = this.config.agent;
    const endpoint = endpointName(this.config.llm, model);
    const settings = { model, endpoint, format, temperature: AGENT_TEMPERATURE, limits, asked };
    const tools = { ...this.ports, llm, settings, progress: null, oneOfEach: this.oneOfEach };
    return { ...single, ...createAgentTestWriter(tools, samples, (of, spent) => ledger.charge(of, spent)) };
  }

  private sampler(
    llm: LlmClient,
    ledger: BudgetLedger,
    { progress: looks, look }: Pick<RunDependencies, 'progress'> & { readonly look: LookAtBase },
    work: RunWork,
  ): Sampler | null {
    const { tries, warm = new WarmStarts() } = work;
    const agents = settingsOfAgents(this.config, agentsOfWork(work));
    if (agents.length === 0) return null;
    const { verifierModel: judge } = this;
    const progress = looks === null || judge === null ? null : { ...looks, below: HOPELESS, judge };
    const charge: RolloutTask['onKnown'] = (asked, spent) => ledger.charge(asked, spent);
    const shared = { ...this.ports, llm, progress, look, readTrajectory, tries, oneOfEach: this.oneOfEach };
    const samplers = new Map(
      agents.map(({ name, settings }) => [name, createSampler({ ...shared, settings }, warm.of(name ?? ''), charge)]),
    );
    return {
      sample: async (task, signal) => {
        const { agent = null } = task;
        const sampler = samplers.get(agent);
        if (sampler === undefined) throw new Error(`The run has no agent ${agent ?? 'without a name'}.`);
        return sampler.sample(task, signal);
      },
      prepare: async (issue, signal) => {
        await Promise.all([...samplers.values()].map((each) => each.prepare(issue, signal)));
      },
    };
  }
}

function newNonce(): string {
  return randomBytes(NONCE_BYTES).toString('hex');
}

/** Steps an agent is given to inspect a patch as judge. */
export function stepsOfLook({ max_steps }: Pick<AgentSettings['limits'], 'max_steps'>): number {
  return Math.ceil(max_steps * LOOK_SHARE);
}

/** The prompts under the current settings. @throws BadInputError for an invalid user prompt, before anything is paid for */
export async function openPrompts(own = loadConfig().prompts): Promise<PromptLibrary> {
  const library = new MarkdownPromptLibrary(own);
  if (own !== undefined) await library.list();
  return library;
}

/** Training examples for the verifier: its prompt for a candidate under the current settings, with the right answer. */
export function trainingConverse(): Converse {
  const { prompts: own, judge, llm } = loadConfig();
  const prompts = new MarkdownPromptLibrary(own);
  const prompt = judge.prompt ?? promptOfModel(llm.verifierModel ?? '');
  const options = { ...judge, prompts, prompt, tokenizer: new GptTokenizer() };
  return (issue, candidate, right) => trainingConversation(options, issue, candidate, right);
}
