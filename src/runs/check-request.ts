import { requestedRule } from '../../verifiers/hybrid/presets.js';
import { costOf, priceOf } from '../core/budget/budget.js';
import { BadInputError } from '../core/errors/errors.js';
import { grouped } from '../core/grouped.js';
import { turnsOf } from '../core/run/agent.js';
import type { RunRequest } from '../core/run/run-request.js';
import { judgeNamed, VERIFIER_NAMES, type VerifierName } from '../core/run/verifier.js';
import type { RunDependenciesFactory } from './run-dependencies.js';

/** What of the settings says which requests can be done. Plain data. */
export type RunChecks = Pick<
  RunDependenciesFactory,
  'defaults' | 'ownVerifiers' | 'verifierModel' | 'agent' | 'testModel' | 'prices'
>;

/**
 * Refuses what could never be done with these settings.
 * @returns the verifiers to use
 * @throws BadInputError naming the field and the setting
 */
export function checkRequest(request: RunRequest, dependencies: RunChecks): readonly VerifierName[] {
  requestedRule(request);
  const names = request.verifiers ?? dependencies.defaults;
  const known = [...VERIFIER_NAMES, ...dependencies.ownVerifiers];
  const unknown = names.find((name) => judgeNamed(name) === null && !known.includes(name));
  if (unknown !== undefined) {
    throw new BadInputError(
      `"${unknown}" is no verifier.`,
      { field: 'verifiers' },
      `Name one of ${known.join(', ')}, or add the module of your own to BESTK_VERIFIERS.`,
    );
  }
  if (dependencies.verifierModel === null && names.some((name) => judgeNamed(name)?.model === null)) {
    throw new BadInputError(
      'the execution-free verifier needs a model, and BESTK_VERIFIER_MODEL is not set.',
      { field: 'verifiers' },
      'Set BESTK_VERIFIER_MODEL (and OPENAI_BASE_URL), name a model as in ef:yes-no@MODEL, or ask for "eb" alone.',
    );
  }
  if (request.candidates === null && samplersOf(request, dependencies).includes(null)) {
    throw new BadInputError(
      'sampling candidates needs a model, and BESTK_AGENT_MODEL is not set.',
      { field: request.agents === null ? 'candidates' : 'agents' },
      'Set BESTK_AGENT_MODEL (and OPENAI_BASE_URL), name the model of each agent, or give the candidates.',
    );
  }
  checkPrices(request, names, dependencies);
  return names;
}

/** A limit in money says nothing about calls whose price nobody knows. */
function checkPrices(request: RunRequest, names: readonly VerifierName[], dependencies: RunChecks): void {
  if ((request.budget?.usd ?? null) === null) return;
  const unpriced = modelsOf(dependencies, request, names).find((model) => priceOf(model, dependencies.prices) === null);
  if (unpriced === undefined) return;
  throw new BadInputError(
    `is in US dollars, but the price of the model "${unpriced}" is not known.`,
    { field: 'budget.usd' },
    'Name a price table in BESTK_PRICES (a model of your own may cost 0), or limit tokens or seconds.',
  );
}

/** The models that judge, each once. @param verifierModel of those that name none */
export function judgesIn(names: readonly VerifierName[], verifierModel: string | null): readonly string[] {
  const models = names.map(judgeNamed).map((judge) => (judge === null ? null : (judge.model ?? verifierModel)));
  return [...new Set(models)].filter((model) => model !== null);
}

/** Whether a model writes tests for it. @throws as `checkRequest` does */
export function writesTests(request: RunRequest, dependencies: RunChecks): boolean {
  if (request.tests !== null || dependencies.testModel === null) return false;
  return checkRequest(request, dependencies).includes('eb');
}

/** The models that a run may call. */
export function modelsOf(
  { verifierModel, agent, testModel }: Pick<RunChecks, 'verifierModel' | 'agent' | 'testModel'>,
  request: Pick<RunRequest, 'agent' | 'agents' | 'candidates' | 'tests'>,
  verifiers: readonly VerifierName[],
): readonly string[] {
  const judge = judgesIn(verifiers, verifierModel);
  const samplers = request.candidates === null ? samplersOf(request, { agent }) : [];
  const writer = request.tests === null && verifiers.includes('eb') ? [testModel] : [];
  return [...judge, ...new Set(samplers), ...writer].filter((model) => model !== null);
}

/** The model of each agent; null where none is named anywhere. */
function samplersOf(
  { agent, agents }: Pick<RunRequest, 'agent' | 'agents'>,
  { agent: configured }: Pick<RunChecks, 'agent'>,
): readonly (string | null)[] {
  return (agents ?? [agent]).map((given) => given?.model ?? configured?.model ?? null);
}

/** What trajectories and their judging can come to at most; most stay far below: few use all steps and all context. */
export interface Estimate {
  readonly model_calls: number;
  readonly tokens: number;
  /** Null when the table has no price for a model that is called. */
  readonly usd: number | null;
}

/** Tokens of one judge's prompt, and its calls for each candidate. */
const JUDGE_TOKENS = 65_536;

/**
 * An upper bound from the limits: every trajectory takes all its steps, every call fills the context, nothing comes from
 * a prefix cache, the judge is asked once about each. More questions and writing tests are not in it.
 */
export function estimate(
  request: RunRequest,
  names: readonly VerifierName[],
  dependencies: RunDependenciesFactory,
): Estimate {
  const { candidates } = request;
  const k = request.k + request.refine;
  const agent = candidates === null ? agentPart(request, dependencies) : NOTHING;
  const judges = names.flatMap((name) => {
    const judge = judgeNamed(name);
    if (judge === null) return [];
    const { calls, context } = judge.method === 'agent' ? dependencies.looks : { calls: 1, context: JUDGE_TOKENS };
    return [part(dependencies, judge.model ?? dependencies.verifierModel, k * calls, { context, answer: 0 })];
  });
  return judges.reduce(sum, agent);
}

function sum(a: Estimate, b: Estimate): Estimate {
  const usd = a.usd === null || b.usd === null ? null : a.usd + b.usd;
  return { model_calls: a.model_calls + b.model_calls, tokens: a.tokens + b.tokens, usd };
}

/** Of all of them together. @throws BadInputError as checkRequest */
export function estimateAll(requests: readonly RunRequest[], dependencies: RunDependenciesFactory): Estimate {
  return requests
    .map((request) => estimate(request, checkRequest(request, dependencies), dependencies))
    .reduce(
      (sum, one) => ({
        model_calls: sum.model_calls + one.model_calls,
        tokens: sum.tokens + one.tokens,
        usd: sum.usd === null || one.usd === null ? null : sum.usd + one.usd,
      }),
      NOTHING,
    );
}

const NOTHING: Estimate = { model_calls: 0, tokens: 0, usd: 0 };

function agentPart(request: RunRequest, dependencies: RunDependenciesFactory): Estimate {
  const turns = grouped(turnsOf(request.agents, request.k + request.refine), ({ agent }) => agent);
  const parts = dependencies.agentsOf(request).map(({ name, model, limits }) => {
    const { max_steps_absolute: steps, max_tokens: context, max_answer_tokens: answer } = limits;
    const calls = (turns.get(name)?.length ?? 0) * (steps ?? 0);
    return part(dependencies, model, calls, { context: context ?? 0, answer: answer ?? 0 });
  });
  return parts.reduce(sum, NOTHING);
}

function part(
  { prices }: RunDependenciesFactory,
  model: string | null,
  calls: number,
  { context, answer }: { context: number; answer: number },
): Estimate {
  const output_tokens = calls * answer;
  const counts = { input_tokens: calls * context - output_tokens, cached_input_tokens: 0, output_tokens };
  return { model_calls: calls, tokens: calls * context, usd: costOf(model ?? '', counts, prices) };
}
