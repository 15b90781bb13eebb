import { z } from 'zod';
import { type Budget, costOf, eachEnd, type PriceTable, type Range, rangeOf, sumOf } from '../core/budget/budget.js';
import { turnsOf } from '../core/run/agent.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { AgentDescription } from '../core/run/run-result.js';
import { type JudgeCalls, type JudgedPool, judgeNamed, type VerifierName } from '../core/run/verifier.js';
import { checkRequest } from './check-request.js';
import { TOLD_OF } from './refine.js';
import type { Asking, RunDependenciesFactory } from './run-dependencies.js';

/** Cost of model calls. Counts all requested calls, including those answered from the store, as budgets do. */
export const Cost = z.object({
  model_calls: z.int(),
  tokens: z.int(),
  /** Null if a called model has no price. */
  usd: z.number().nullable(),
});
export type Cost = z.infer<typeof Cost>;

export const Between = z.object({ at_least: Cost, likely: Cost, at_most: Cost });
export type Between = z.infer<typeof Between>;

const PARTS = ['rollouts', 'progress', 'summaries', 'judges', 'tests'] as const;
type PartName = (typeof PARTS)[number];

/** What runs can come to. Most stay far below the most: few rollouts use all steps and all context. */
export const Estimate = Between.extend({
  parts: z
    .array(Between.extend({ part: z.enum(PARTS) }))
    .readonly()
    .describe('Estimates by part; a budget only limits their sum.'),
});
export type Estimate = z.infer<typeof Estimate>;

/** A greedy arm: first rollouts per issue, and the maximum for all issues together. */
export interface EstimatedAllocation {
  readonly firstOf: (request: RunRequest) => number;
  readonly most: number | null;
}

/**
 * A typical rollout: number of steps, and tokens of its first prompt, added per step, and per answer: medians of the runs
 * named in docs/sampling.md.
 */
const LIKELY = { steps: 27, first: 2_100, more: 730, answer: 320 } as const;
/** No text has more characters per token. */
const CHARACTERS = 8;
/** Characters of an issue that are included in every prompt. */
const SURELY_SHOWN = 2_000;

type Ends = Readonly<Record<keyof Range, Cost>>;
type Parts = Readonly<Record<PartName, Ends>>;
type Sampled = Pick<Parts, 'rollouts' | 'progress'>;

const NONE: Cost = { model_calls: 0, tokens: 0, usd: 0 };
const NOTHING: Ends = { low: NONE, likely: NONE, high: NONE };
const ONCE = rangeOf(1);

/**
 * Estimate for all requests together.
 * @throws BadInputError like checkRequest
 */
export async function estimateAll(
  requests: readonly RunRequest[],
  dependencies: RunDependenciesFactory,
  allocation: EstimatedAllocation | null = null,
): Promise<Estimate> {
  const asking = await dependencies.asking();
  const each = requests.map((request) => partsOf({ request, dependencies, asking }, allocation));
  const own = PARTS.map((part) => [part, total(each.map((parts) => parts[part]))] as const);
  const shared = allocation?.most == null ? null : sharedBy(requests, { dependencies, asking }, allocation);
  const parts = own.map(([part, ends]) => {
    const most = part === 'rollouts' || part === 'progress' ? shared?.[part] : undefined;
    return [part, most === undefined ? ends : ofEach(lesser)(ends, most)] as const;
  });
  const sum = total(each.map((one, index) => within(requests[index]?.budget ?? null, total(Object.values(one)))));
  return {
    ...between(ofEach(lesser)(sum, total(parts.map(([, ends]) => ends)))),
    parts: parts.map(([part, ends]) => ({ part, ...between(ends) })),
  };
}

/** Sum of estimates for runs made one after another. */
export function sumOfEstimates(estimates: readonly Estimate[]): Estimate {
  const parts = PARTS.map((part) => {
    const own = estimates.flatMap((each) => each.parts.filter((one) => one.part === part));
    return { part, ...between(total(own.map(endsOf))) };
  });
  return { ...between(total(estimates.map(endsOf))), parts };
}

interface Settings {
  readonly dependencies: RunDependenciesFactory;
  readonly asking: Asking;
}

interface Estimated extends Settings {
  readonly request: RunRequest;
}

function partsOf(one: Estimated, allocation: EstimatedAllocation | null): Parts {
  const { request, dependencies, asking } = one;
  const names = checkRequest(request, dependencies);
  const samples = request.candidates === null;
  const first = samples ? firstWave(request, allocation) : rangeOf(0);
  const [told, branched] = samples ? [request.refine, branchesOf(one)] : [0, 0];
  const later = told + branched;
  const all = sumOf([first, rangeOf(0, later)]);
  // Both waves are verified again together; whether there is a second wave is only known later.
  const pools = later === 0 ? [poolOf(request, first)] : [poolOf(request, first), poolOf(request, all)];
  const retold = told === 0 ? rangeOf(0) : rangeOf(0, Math.min(TOLD_OF, first.likely), TOLD_OF);
  const teller = dependencies.verifierModel ?? dependencies.agentsOf(request)[0]?.model ?? null;
  return {
    ...(samples ? sampled(one, sumOf([first, rangeOf(0, told)]), branched) : { rollouts: NOTHING, progress: NOTHING }),
    summaries: priced(one, teller, asking.summary, retold),
    judges: total(
      pools.map((pool) => judged(one, names, pool)).map((ends, wave) => (wave === 0 ? ends : perhaps(ends))),
    ),
    tests: names.includes('eb') ? tested(one, rangeOf(1, pools.length)) : NOTHING,
  };
}

/** A program's steps cannot be repeated, so nothing branches from them. */
function branchesOf({ request, dependencies }: Estimated): number {
  return dependencies.agentsOf(request).some(({ format }) => format !== 'command') ? request.branch : 0;
}

/** How soon rollouts agree, or which issue gets the next, is unknown; the midpoint is used as likely. */
function firstWave(request: RunRequest, allocation: EstimatedAllocation | null): Range {
  const { k, k0 } = request;
  const least = allocation?.firstOf(request) ?? k0 ?? k;
  return rangeOf(least, Math.round((least + k) / 2), k);
}

/** For all issues of a greedy arm, as if every rollout were by the most expensive agent. */
function sharedBy(
  requests: readonly RunRequest[],
  settings: Settings,
  { firstOf, most }: EstimatedAllocation,
): Sampled {
  const atFirst = requests.reduce((sum, request) => sum + firstOf(request), 0);
  // An issue gets its first rollouts whatever the limit.
  const rollouts = rangeOf(atFirst, Math.max(atFirst, most ?? 0));
  const ofDearest = (part: keyof Sampled): Ends =>
    requests.map((request) => dearest({ ...settings, request }, part, rollouts)).reduce(ofEach(greater), NOTHING);
  return { rollouts: ofDearest('rollouts'), progress: ofDearest('progress') };
}

/** The same rollouts by the most expensive agent of the request, for each cost. */
function dearest(one: Estimated, part: keyof Sampled, count: Range): Ends {
  const { dependencies, request } = one;
  return dependencies
    .agentsOf(request)
    .map((agent) => ofAgent(one, agent, count)[part])
    .reduce(ofEach(greater), NOTHING);
}

/** @param branched rollouts that continue from a step of another; at most by the most expensive agent */
function sampled(one: Estimated, count: Range, branched: number): Sampled {
  const { dependencies, request } = one;
  const each = dependencies.agentsOf(request).map((agent) => {
    const own = eachEnd(
      (rollouts) => turnsOf(request.agents, rollouts).filter((turn) => turn.agent === agent.name).length,
      count,
    );
    return ofAgent(one, agent, own);
  });
  // The step to branch from is found by scoring one more rollout, most of whose scores are stored.
  const looked = branched === 0 ? 0 : branched + 1;
  return {
    rollouts: total([...each.map(({ rollouts }) => rollouts), dearest(one, 'rollouts', rangeOf(0, branched))]),
    progress: total([...each.map(({ progress }) => progress), dearest(one, 'progress', rangeOf(0, looked))]),
  };
}

function ofAgent(one: Estimated, { model, limits, format }: AgentDescription, count: Range): Sampled {
  const { max_steps: told, max_steps_absolute: most, max_tokens: context, max_answer_tokens: longest } = limits;
  const isProgram = format === 'command';
  const steps = rangeOf(isProgram ? 0 : 1, Math.min(LIKELY.steps, told ?? LIKELY.steps), most ?? 0);
  const room = (context ?? 0) - (longest ?? 0);
  const middle = LIKELY.first + (LIKELY.more * (steps.likely - 1)) / 2;
  const calls = {
    calls: steps,
    prompt: rangeOf(0, Math.min(room, Math.round(middle)), room),
    answer: rangeOf(0, Math.min(longest ?? 0, LIKELY.answer), longest ?? 0),
  };
  const rollouts = priced(one, model, calls, count);
  const { progress } = one.asking;
  if (progress === null || isProgram) return { rollouts, progress: NOTHING };
  const looks = eachEnd((made, times) => Math.floor(made / progress.every) * times, { ...steps, low: 0 }, count);
  return { rollouts, progress: priced(one, one.dependencies.verifierModel, progress, looks) };
}

function poolOf({ candidates }: RunRequest, rollouts: Range): JudgedPool {
  if (candidates === null) {
    // Any of them may be empty, and how many are equal is unknown.
    const patches = { ...rollouts, low: 0 };
    return { patches, distinct: patches, records: true };
  }
  const patches = candidates.map(({ patch }) => patch.trim()).filter((patch) => patch !== '');
  const records = candidates.some(({ trajectory }) => (trajectory?.steps.length ?? 0) > 0);
  return { patches: rangeOf(patches.length), distinct: rangeOf(new Set(patches).size), records };
}

function judged(one: Estimated, names: readonly VerifierName[], pool: JudgedPool): Ends {
  const judges = names.flatMap((name) => {
    const judge = judgeNamed(name);
    if (judge === null) return [];
    return [priced(one, judge.model ?? one.dependencies.verifierModel, one.asking.judge(name, pool), ONCE)];
  });
  return total(judges);
}

function tested(one: Estimated, verifications: Range): Ends {
  const { asking, dependencies, request } = one;
  if (asking.tests === null || request.tests !== null) return NOTHING;
  const { writing, further } = asking.tests;
  const { testModel } = dependencies;
  return total([priced(one, testModel, writing, ONCE), priced(one, testModel, further, verifications)]);
}

/** @param count how often all of the calls are made */
function priced(
  { request, dependencies }: Estimated,
  model: string | null,
  { calls, prompt, answer }: JudgeCalls,
  count: Range,
): Ends {
  const shown = Math.floor(Math.min(request.issue.problem_statement.length, SURELY_SHOWN) / CHARACTERS);
  const least = { ...prompt, low: Math.max(prompt.low, Math.min(shown, prompt.high)) };
  const at = (end: keyof Range): Cost =>
    costAt(
      calls[end] * count[end],
      { prompt: least[end], answer: answer[end] },
      { model, prices: dependencies.prices },
    );
  return { low: at('low'), likely: at('likely'), high: at('high') };
}

function costAt(
  calls: number,
  { prompt, answer }: { readonly prompt: number; readonly answer: number },
  { model, prices }: { readonly model: string | null; readonly prices: PriceTable },
): Cost {
  if (calls === 0) return NONE;
  const model_calls = Math.ceil(calls);
  const counts = { input_tokens: model_calls * prompt, cached_input_tokens: 0, output_tokens: model_calls * answer };
  const tokens = counts.input_tokens + counts.output_tokens;
  return { model_calls, tokens, usd: costOf(model ?? '', counts, prices) };
}

function perhaps(ends: Ends): Ends {
  return { ...ends, low: NONE };
}

/** A budget cuts off everything beyond it, at any point. */
function within(budget: Budget | null, ends: Ends): Ends {
  if (budget === null || Object.values(budget).every((limit) => limit === null)) return ends;
  const { tokens, usd } = budget;
  const most = { model_calls: Infinity, tokens: tokens ?? Infinity, usd: usd ?? Infinity };
  return { low: NONE, likely: lesser(ends.likely, most), high: lesser(ends.high, most) };
}

function total(all: readonly Ends[]): Ends {
  return all.reduce(ofEach(ofBoth((a, b) => a + b)), NOTHING);
}

function ofEach(work: (a: Cost, b: Cost) => Cost): (a: Ends, b: Ends) => Ends {
  return (a, b) => ({ low: work(a.low, b.low), likely: work(a.likely, b.likely), high: work(a.high, b.high) });
}

const lesser = ofBoth(Math.min);
const greater = ofBoth(Math.max);

function ofBoth(work: (a: number, b: number) => number): (a: Cost, b: Cost) => Cost {
  return (a, b) => ({
    model_calls: work(a.model_calls, b.model_calls),
    tokens: work(a.tokens, b.tokens),
    usd: a.usd === null || b.usd === null ? null : work(a.usd, b.usd),
  });
}

function between({ low, likely, high }: Ends): Between {
  return { at_least: low, likely, at_most: high };
}

function endsOf({ at_least: low, likely, at_most: high }: Between): Ends {
  return { low, likely, high };
}
