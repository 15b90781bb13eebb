import { requestedRule } from '../../verifiers/hybrid/presets.js';
import { priceOf } from '../core/budget/budget.js';
import { BadInputError } from '../core/errors/errors.js';
import type { RunRequest } from '../core/run/run-request.js';
import { judgeNamed, VERIFIER_NAMES, type VerifierName } from '../core/run/verifier.js';
import type { RunDependenciesFactory } from './run-dependencies.js';

/** The settings that determine which requests can be executed. Plain data. */
export type RunChecks = Pick<
  RunDependenciesFactory,
  'defaults' | 'ownVerifiers' | 'verifierModel' | 'agent' | 'testModel' | 'prices'
>;

/**
 * Refuses requests that cannot be executed with these settings.
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
      `"${unknown}" is not a verifier.`,
      { field: 'verifiers' },
      `Name one of ${known.join(', ')}, or add your own module to BESTK_VERIFIERS.`,
    );
  }
  if (dependencies.verifierModel === null && names.some((name) => judgeNamed(name)?.model === null)) {
    throw new BadInputError(
      'the execution-free verifier needs a model, and BESTK_VERIFIER_MODEL is not set.',
      { field: 'verifiers' },
      'Set BESTK_VERIFIER_MODEL (and OPENAI_BASE_URL), name a model as in ef:yes-no@MODEL, or use only "eb".',
    );
  }
  if (request.candidates === null && samplersOf(request, dependencies).includes(null)) {
    throw new BadInputError(
      'sampling candidates needs a model, and BESTK_AGENT_MODEL is not set.',
      { field: request.agents === null ? 'candidates' : 'agents' },
      'Set BESTK_AGENT_MODEL (and OPENAI_BASE_URL), name the model of each agent, or supply candidates.',
    );
  }
  checkPrices({ field: 'budget.usd', budget: request.budget }, request, names, dependencies);
  return names;
}

interface DollarLimit {
  readonly field: string;
  readonly budget: { readonly usd?: number | null | undefined } | null | undefined;
}

/**
 * A limit in dollars cannot be enforced for models without a known price.
 * @throws BadInputError naming the field
 */
export function checkPrices(
  { field, budget }: DollarLimit,
  asked: Asked,
  names: readonly VerifierName[],
  dependencies: RunChecks,
): void {
  if ((budget?.usd ?? null) === null) return;
  const unpriced = modelsOf(dependencies, asked, names).find((model) => priceOf(model, dependencies.prices) === null);
  if (unpriced === undefined) return;
  throw new BadInputError(
    `is in US dollars, but the price of the model "${unpriced}" is not known.`,
    { field },
    'Name a price table in BESTK_PRICES (a model of your own may cost 0), or limit tokens or seconds.',
  );
}

/**
 * The distinct models of the judges.
 * @param verifierModel model of judges that name none
 */
export function judgesIn(names: readonly VerifierName[], verifierModel: string | null): readonly string[] {
  const models = names.map(judgeNamed).map((judge) => (judge === null ? null : (judge.model ?? verifierModel)));
  return [...new Set(models)].filter((model) => model !== null);
}

/** The parts of a request that determine which models it needs; null = as in `RunRequest`. */
interface Asked {
  readonly agent: Modelled | null;
  readonly agents: readonly Modelled[] | null;
  readonly candidates: readonly unknown[] | null;
  readonly tests: readonly unknown[] | null;
}

interface Modelled {
  readonly model?: string | null | undefined;
}

/** The models that a run may call. */
export function modelsOf(
  { verifierModel, agent, testModel }: Pick<RunChecks, 'verifierModel' | 'agent' | 'testModel'>,
  request: Asked,
  verifiers: readonly VerifierName[],
): readonly string[] {
  const judge = judgesIn(verifiers, verifierModel);
  const samplers = request.candidates === null ? samplersOf(request, { agent }) : [];
  const writer = request.tests === null && verifiers.includes('eb') ? [testModel] : [];
  return [...judge, ...new Set(samplers), ...writer].filter((model) => model !== null);
}

/** The model of each agent; null if neither request nor settings name one. */
function samplersOf(
  { agent, agents }: Pick<Asked, 'agent' | 'agents'>,
  { agent: configured }: Pick<RunChecks, 'agent'>,
): readonly (string | null)[] {
  return (agents ?? [agent]).map((given) => given?.model ?? configured?.model ?? null);
}
