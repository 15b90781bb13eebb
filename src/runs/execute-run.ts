import { Pool, type PoolInput } from '../../verifiers/hybrid/pool.js';
import { requestedRule, ruleHashes } from '../../verifiers/hybrid/presets.js';
import { selectBest } from '../../verifiers/hybrid/select.js';
import type { Candidate } from '../core/run/candidate.js';
import type { Cell, GeneratedTest } from '../core/run/generated-test.js';
import { spending } from '../core/budget/budget.js';
import { readSummaries } from '../core/patch/patch.js';
import { candidateOf, type Rollout, toldOf } from '../core/run/rollout.js';
import { RunRequest } from '../core/run/run-request.js';
import { type Provenance, requireStorable, type RunResult, type Sampling } from '../core/run/run-result.js';
import type { Admission, ExistingTests, ModelCall, Observe, Verifier, VerifierName } from '../core/run/verifier.js';
import { CallsUnderWay, dependenciesOf, type SpreadTools } from './spread-run.js';
import type { PromptLibrary } from '../ports/prompt-library.js';
import type { Run } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { checkRequest, judgesIn } from './check-request.js';
import { collect, type Wave } from './collect.js';
import { estimateAll } from './estimate.js';
import { secondWave } from './refine.js';
import { describeCandidates, type Described, poolInput, returnedPatch } from './entries.js';
import { type Emit, type RunDependencies, type RunDependenciesFactory, RunExecutor } from './run-dependencies.js';
import { originFlags, score, withdrawUnverified } from './score.js';
import { testsMeanwhile, writtenTests } from './tests-of-run.js';
import { StageTelemetry } from './instrumented-executor.js';
import { secondsOf, TimeBudget } from '../core/async/time.js';
import { countVerified, expectedRates, statisticsByAgent } from './run-statistics.js';
import { testQuality } from './test-quality.js';

export interface PipelineTools {
  readonly dependencies: RunDependenciesFactory;
  readonly sandbox: Sandbox;
  readonly prompts: PromptLibrary;
  readonly version: string;
  /** Absent = no telemetry. */
  readonly watch?: StageTelemetry;
  /** Distributes parts of runs to other processes; absent = everything is done here. */
  readonly spread?: SpreadTools;
}

/** The candidates of a run and their origin; `seconds` is wall time by stage. */
interface Given {
  readonly candidates: readonly Candidate[];
  readonly rollouts: readonly Rollout[];
  readonly sampling: Sampling | null;
  readonly seconds: Readonly<{ agent?: number }>;
}

/** Shared by all stages of one run. */
interface Work {
  readonly runId: string;
  readonly request: RunRequest;
  readonly names: readonly VerifierName[];
  readonly deps: RunDependencies;
  readonly verifiers: readonly Verifier[];
  readonly rule: ReturnType<typeof requestedRule>;
  readonly record: Record;
  readonly emit: Emit;
  readonly time: TimeBudget;
}

interface Verified extends Awaited<ReturnType<typeof score>> {
  readonly described: readonly Described[];
  /** Tests written by a model or by the candidates' agents; none if the request supplied tests. */
  readonly written: readonly GeneratedTest[];
  readonly input: PoolInput;
  readonly pool: Pool;
}

/** collect → score → select: one run, from its request to its result. */
export class PipelineExecutor extends RunExecutor {
  private readonly watch: StageTelemetry;

  constructor(private readonly tools: PipelineTools) {
    super();
    this.watch = tools.watch ?? new StageTelemetry();
  }

  override setup(): Promise<string> {
    return this.tools.dependencies.setup();
  }

  /** @throws BadInputError for an unknown preset, or for a model or price that the request needs and the settings lack */
  override check(request: Run['request']): void {
    // Already parsed at intake; parsing again would take a third of the time of accepting a run.
    checkRequest(request as RunRequest, this.tools.dependencies);
  }

  /** @throws BadInputError, UnavailableError, UnstorableResultError, and the signal's reason */
  override async execute(...given: Parameters<RunExecutor['execute']>): Promise<RunResult> {
    const request = RunRequest.parse(given[0].request);
    const perform = (): Promise<RunResult> => this.perform(request, given);
    return requireStorable(await this.tools.sandbox.keeping(request.issue.environment.image, perform));
  }

  private async perform(request: RunRequest, given: Parameters<RunExecutor['execute']>): Promise<RunResult> {
    const [{ id }, emit, signal, told] = given;
    const { issue, k, preset } = request;
    const names = checkRequest(request, this.tools.dependencies);
    using record = new Record(emit);
    const deps = dependenciesOf(this.tools, { id, request }, record);
    using time = new TimeBudget(request.budget?.seconds ?? null);
    const { at_least, likely, at_most } = await estimateAll([request], this.tools.dependencies);
    const { instance_id } = issue;
    await emit('started', { instance_id, k, verifiers: [...names], preset, at_least, likely, at_most });

    const verifiers = deps.verifiers(names).map((verifier) => this.watch.verifier(verifier));
    const work: Work = { runId: id, request, names, deps, verifiers, rule: requestedRule(request), record, emit, time };
    return await spending(deps.ledger, this.stages(work, signal), told);
  }

  private async stages(work: Work, signal: AbortSignal): Promise<RunResult> {
    const { request, names, deps, verifiers, rule, record, emit } = work;
    let given = await this.candidates(work, signal);
    const tests = await this.tests(work, given.candidates, signal);
    let verified = await this.verify(work, given, { tests, before: {} }, signal);
    if (request.refine + request.branch > 0) {
      const more = await this.secondWave(work, given, verified.pool, signal);
      const { seconds } = verified;
      if (more.rollouts.length > given.rollouts.length) {
        verified = await this.verify(work, more, { tests, before: seconds }, signal);
      }
      given = more;
    }
    const { candidates, rollouts, sampling } = given;
    const { verdicts, described, seconds, written, input, pool } = verified;
    const origins = originFlags(candidates, rollouts);
    const flags = new Map(
      described.map(({ entry, flags: own }) => [entry.id, [...own, ...(origins.get(entry.id) ?? [])]]),
    );
    const selection = withdrawUnverified(selectBest(input, rule, flags), verdicts, names, rule.preset);
    const spent = deps.ledger.spent();
    await emit('selected', { candidate_id: selection.candidate_id, deciding_stage: selection.deciding_stage });
    return {
      selection,
      patch: returnedPatch(candidates, verdicts, { selection, statement: request.issue.problem_statement }),
      verdicts: [...verdicts],
      measures: verifiers.flatMap(({ measures }) => measures),
      cells: record.cells,
      admissions: [...record.admissions],
      test_quality: testQuality(pool, record.admissions),
      statistics: {
        ...countVerified(described, verdicts, record.admissions),
        ...expectedRates(pool),
        agents: statisticsByAgent(pool),
        tests_given: (request.tests ?? written).length,
      },
      usage: {
        models: [...deps.usage()],
        tokens: spent.tokens,
        cost_usd: spent.usd,
        stages: { ...given.seconds, ...seconds },
      },
      provenance: await this.provenance(request, names, signal),
      tests: [...written],
      rollouts: [...rollouts],
      sampling,
    };
  }

  /** The request's candidates, or sampled ones. */
  private async candidates(work: Work, signal: AbortSignal): Promise<Given> {
    const { issue, k, k0, seed, candidates } = work.request;
    if (candidates !== null) return { candidates, rollouts: [], sampling: null, seconds: {} };
    const start = performance.now();
    const { sampler, emit, plan } = this.wave(work);
    const sample = (): ReturnType<typeof collect> => collect(sampler, { ...plan, issue, k, k0, seed }, emit, signal);
    const { rollouts, sampling } = await this.watch.stage('sampling', sample);
    return { candidates: rollouts.map(candidateOf), rollouts, sampling, seconds: { agent: since(start) } };
  }

  /** Both waves, or only the first if no second one is made. */
  private async secondWave(work: Work, first: Given, pool: Pool, signal: AbortSignal): Promise<Given> {
    const { sampling, rollouts, seconds } = first;
    const { runId } = work;
    if (sampling === null) return first;
    const start = performance.now();
    const sample = (): ReturnType<typeof secondWave> =>
      secondWave(this.wave(work), { ...work.deps, ...work.request, runId }, { ...first, sampling, pool }, signal);
    const more = await this.watch.stage('sampling', sample);
    const both = [...rollouts, ...more.rollouts];
    return {
      candidates: both.map(candidateOf),
      rollouts: both,
      sampling: more.sampling,
      seconds: { agent: (seconds.agent ?? 0) + since(start) },
    };
  }

  private wave({ request, deps: { sampler, ledger }, emit, time }: Work): Wave {
    if (sampler === null) throw new Error('A request without an agent model was let through.');
    const { issue, seed, agents } = request;
    const models = new Map(this.tools.dependencies.agentsOf(request).map(({ name, model }) => [name, model]));
    const watched = this.watch.sampler(sampler, ({ agent = null }) => models.get(agent) ?? null);
    return { sampler: watched, emit, plan: { issue, seed, agents, ledger, stopAt: time.samplingOver } };
  }

  /** The request's tests, or tests written for it. */
  private async tests(
    { request, names, deps, emit }: Work,
    candidates: readonly Candidate[],
    signal: AbortSignal,
  ): Promise<readonly GeneratedTest[]> {
    const { issue, tests } = request;
    if (tests !== null) return tests;
    if (!names.includes('eb')) return [];
    const writing = (): ReturnType<typeof writtenTests> => writtenTests(deps, { issue, candidates }, emit, signal);
    return this.watch.stage('test-writing', writing);
  }

  /** Runs every verifier on all candidates; earlier results for some of them are reused from the store. */
  private async verify(
    { request, names, deps, verifiers, rule, record, emit, time }: Work,
    { candidates, rollouts }: Given,
    { tests, before }: { readonly tests: readonly GeneratedTest[]; readonly before: Verified['seconds'] },
    signal: AbortSignal,
  ): Promise<Verified> {
    const { issue } = request;
    record.begin();
    await readSummaries(candidates, issue.problem_statement);
    const writes = names.includes('eb') && request.tests === null;
    const written = writes ? [...tests] : [];
    const { harvest, ...asked } = writes ? testsMeanwhile(deps, issue, written, emit) : {};
    const { verdicts, seconds } = await score(
      verifiers,
      { issue, candidates, tests: [...tests], told: toldOf(rollouts), ...asked },
      { emit: (verdict) => emit('verdict', { ...verdict, evidence: {} }), outOfTime: time.over, harvest },
      signal,
    );
    const described = describeCandidates(candidates, verdicts, issue.problem_statement, {
      rollouts,
      measures: verifiers.flatMap((each) => each.measures),
    });
    const input = poolInput(issue.instance_id, described, request.tests ?? written);
    const took = Object.entries(seconds).map(([name, more]) => [name, (before[name] ?? 0) + more] as const);
    return { verdicts, seconds: Object.fromEntries(took), described, written, input, pool: new Pool(input, rule) };
  }

  private async provenance(
    request: RunRequest,
    names: readonly VerifierName[],
    signal: AbortSignal,
  ): Promise<Provenance> {
    const { sandbox, prompts, dependencies, version } = this.tools;
    const samples = request.candidates === null;
    const executes = samples || names.includes('eb');
    const agents = samples ? [...dependencies.agentsOf(request)] : [];
    return {
      bestk_version: version,
      image_id: executes ? (await sandbox.describeImage(request.issue.environment.image, signal)).id : null,
      verifier_model: judgesIn(names, dependencies.verifierModel).join(', ') || null,
      ...(request.agents === null ? { agent: agents[0] ?? null, agents: [] } : { agent: null, agents }),
      test_model: names.includes('eb') && request.tests === null ? dependencies.testModel : null,
      prompt_hashes: { ...(await prompts.hashes()) },
      preset: request.preset,
      rule_hashes: ruleHashes(request),
      verifiers: [...names],
      sandbox_limits: executes ? { ...sandbox.limits } : {},
    };
  }
}

/** Collects what verifiers report while they work, for the result, and emits it without logs. */
class Record implements Observe, Disposable {
  readonly cells: Cell[] = [];
  admissions: readonly Admission[] = [];

  private readonly calls;

  /** Discards earlier reports, since verification reports everything again. */
  begin(): void {
    this.cells.length = 0;
    this.admissions = [];
  }

  constructor(private readonly emit: Emit) {
    this.calls = new CallsUnderWay(emit);
  }

  [Symbol.dispose](): void {
    this.calls[Symbol.dispose]();
  }

  call(call: ModelCall): () => void {
    return this.calls.begin(call);
  }

  async cell(cell: Cell): Promise<void> {
    this.cells.push(cell);
    const { candidate_id, suite, test_id, outcome, duration_ms, passed, total } = cell;
    await this.emit('cell', { candidate_id, suite, test_id, outcome, duration_ms, passed, total });
  }

  async existing(tests: ExistingTests): Promise<void> {
    await this.emit('existing-tests', { ...tests, files: [...tests.files] });
  }

  async admission(admissions: readonly Admission[]): Promise<void> {
    this.admissions = admissions;
    await this.emit(
      'admission',
      admissions.map((admission) => ({ ...admission })),
    );
  }
}

function since(start: number): number {
  return secondsOf(performance.now() - start);
}
