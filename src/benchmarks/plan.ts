import { z } from 'zod';
import { Budget } from '../core/budget/budget.js';
import { parsed } from '../core/errors/errors.js';
import { identifier } from '../core/identifier.js';
import { GivenAgent, type NamedAgent, NamedAgents } from '../core/run/agent.js';
import type { Candidate } from '../core/run/candidate.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import type { Issue } from '../core/run/issue.js';
import { GivenRule, type RunRequest, runRequest } from '../core/run/run-request.js';
import { DataSetFilter } from '../io/datasets/filter.js';
import type { AllocationBudget } from '../runs/allocate.js';
import { checkPrices, type RunChecks } from '../runs/check-request.js';

export const ModelName = z.string().min(1).max(256);

/** Settings of an arm that do not refer to files. */
export const ArmBasics = {
  name: z.string().regex(/^[\w-][\w.-]{0,63}$/, 'may only contain letters, digits, ".", "_" and "-"'),
  /** Temperature of the agent. */
  temperature: z.number().min(0).max(2).optional(),
  k: z.int().min(1).optional(),
  k0: z.int().min(1).optional(),
  /** Rollouts of a second wave, whose prompt describes the first. */
  refine: z.int().min(0).optional(),
  /** Rollouts that continue from a step of the most promising ones of the first wave. */
  branch: z.int().min(0).optional(),
  refine_from: z.number().min(0).max(1).optional(),
  /** Allocation of rollouts: `equal` = k for each issue; `greedy` = where the expected gain per dollar is highest. */
  allocate: z.enum(['equal', 'greedy']).optional(),
  /** Limits of greedy rollouts for the whole arm; once one is reached, no issue gets more than its first ones or those it has. */
  budget: z
    .strictObject({
      rollouts: z.int().positive().optional(),
      tokens: z.int().positive().optional(),
      usd: z.number().positive().optional(),
    })
    .optional(),
  seed: z.int().min(0).optional(),
  /** Verifiers, as named by `--verifiers`. */
  judges: z.array(z.string().min(1)).min(1).optional(),
};

/** The first arm is the user's own; the others are compared with it. */
export function armsOf<Arm extends z.ZodType<{ readonly name: string }>>(arm: Arm) {
  return z
    .array(arm)
    .min(1)
    .max(64)
    .refine((arms) => new Set(arms.map(({ name }) => name)).size === arms.length, 'two arms have the same name')
    .superRefine((arms, context) => {
      for (const [index, { allocate, budget, candidates }] of (arms as readonly Allocated[]).entries()) {
        const [isGreedy, hasOwn] = [allocate === 'greedy', candidates !== undefined && candidates !== false];
        const wrong = (field: string, message: string): void => {
          context.addIssue({ code: 'custom', path: [index, field], message });
        };
        if (isGreedy && hasOwn) wrong('allocate', 'is only for sampling, but candidates are given');
        if (!isGreedy && budget !== undefined) wrong('budget', 'needs `allocate: greedy` in the same arm');
      }
    });
}

interface Allocated {
  readonly allocate?: string | undefined;
  readonly budget?: object | undefined;
  readonly candidates?: unknown;
}

/** The arm's own limits of its greedy rollouts. */
export function allocationBudget({ budget: own = {} }: Pick<SentArm, 'budget'>): AllocationBudget {
  return { rollouts: own.rollouts ?? null, tokens: own.tokens ?? null, usd: own.usd ?? null };
}

export const Grading = z.strictObject({
  time_limit_s: z.number().min(1).max(86_400).default(300),
  test_command: z.string().min(1).optional(),
});

/** One template or several. */
const Images = z
  .union([
    z
      .string()
      .min(1)
      .transform((template) => [template]),
    z.array(z.string().min(1)),
  ])
  .default([]);

/** Settings of a bench file that are the same for the command line and a service. */
export const BenchBasics = {
  title: identifier(200).optional(),
  /** Templates of image names. */
  image: Images,
  filter: DataSetFilter.default(DataSetFilter.parse({})),
  /** Limits for the whole benchmark, and for each issue of an arm. */
  budget: z
    .strictObject({
      tokens: z.int().positive().optional(),
      usd: z.number().positive().optional(),
      each: Budget.optional(),
    })
    .default({}),
  /** Maximum number of instances in progress at once. */
  concurrency: z.int().min(1).max(1024).default(4),
  /** After this many failures, nothing more is started. */
  max_failures: z.int().min(1).optional(),
};

/** An arm as sent to a service: files that the command line reads are included in it or sent as separate lines. */
export const SentArm = z.strictObject({
  ...ArmBasics,
  /** An agent, or a model that replaces BESTK_AGENT_MODEL. */
  agent: z.union([ModelName, GivenAgent]).optional(),
  /** Several agents that share the trajectories. */
  agents: NamedAgents.optional(),
  ...GivenRule.shape,
  /** Whether its candidates are supplied instead of sampled. */
  candidates: z.boolean().default(false),
});
export type SentArm = z.infer<typeof SentArm>;

/** The first line sent to a service: a bench file as JSON. */
export const SentBench = z.strictObject({
  ...BenchBasics,
  arms: armsOf(SentArm),
  grade: z.union([z.literal(false), Grading]).default(Grading.parse({})),
});
export type SentBench = z.infer<typeof SentBench>;

/** The stored form of a benchmark: the bench file and the instances derived from it. */
export const BenchmarkPlan = SentBench.extend({
  instances: z.array(z.string()),
  /** Instances of arms for which no request could be made. */
  skipped: z.array(z.object({ arm: z.string(), instance_id: z.string(), reason: z.string() })),
});
export type BenchmarkPlan = z.infer<typeof BenchmarkPlan>;

/** Totals over the arms so far. */
export interface Tally {
  readonly failed: number;
  readonly tokens: number;
  readonly usd: number;
}

/** @returns why no further instance is started; null = continue */
export function reasonToStop(
  { budget, max_failures }: Pick<SentBench, 'budget' | 'max_failures'>,
  { failed, tokens, usd }: Tally,
): string | null {
  if (max_failures !== undefined && failed >= max_failures) return `${failed} instances failed, which is the limit`;
  if (budget.tokens !== undefined && tokens >= budget.tokens) return `the budget of ${budget.tokens} tokens is spent`;
  if (budget.usd !== undefined && usd >= budget.usd) return `the budget of ${budget.usd} US dollars is spent`;
  return null;
}

/** Share of a budget that sampling may use; a fifth is kept for verification, as in each run. */
const FOR_SAMPLING = 0.8;

/** Whether greedy arms sample nothing more: what all arms have spent leaves only verification its share. */
export function samplingEnds({ budget, ...plan }: Parameters<typeof reasonToStop>[0], tally: Tally): boolean {
  const share = (limit: number | undefined): number | undefined => limit && limit * FOR_SAMPLING;
  return reasonToStop({ ...plan, budget: { tokens: share(budget.tokens), usd: share(budget.usd) } }, tally) !== null;
}

/** @throws BadInputError naming the field */
export function readSentBench(value: unknown): SentBench {
  return parsed(SentBench, value, {}, 'docs/bench.md describes the bench file.');
}

/** The fields of an arm that determine how an issue is solved. */
type Way = Pick<
  SentArm,
  'name' | 'temperature' | 'k' | 'k0' | 'refine' | 'branch' | 'refine_from' | 'seed' | 'judges'
> & {
  readonly agent?: string | z.input<typeof GivenAgent> | undefined;
  readonly agents?: readonly z.input<typeof NamedAgent>[] | undefined;
};

/**
 * Refuses limits in dollars, of the benchmark or of the arm's sampling, unless the prices of all models they pay for are known.
 * @param has which of the arm's inputs are saved
 * @throws BadInputError
 */
export function checkDollars(
  { budget }: Pick<SentBench, 'budget'>,
  { name, agent: given, agents, judges, budget: own }: Way & Pick<SentArm, 'budget'>,
  has: { readonly candidates: boolean; readonly tests: boolean },
  checks: RunChecks,
): void {
  const agent = typeof given === 'object' ? given : { model: given };
  const saved = (is: boolean): readonly [] | null => (is ? [] : null);
  const asked = { agent, agents: agents ?? null, candidates: saved(has.candidates), tests: saved(has.tests) };
  checkPrices({ field: 'budget.usd', budget }, asked, judges ?? checks.defaults, checks);
  checkPrices({ field: `arms.${name}.budget.usd`, budget: own }, asked, [], checks);
}

/** Supplied input of an issue in an arm; null = it is generated. */
export interface SavedInput {
  readonly candidates: readonly Candidate[] | null;
  readonly tests: readonly GeneratedTest[] | null;
}

/**
 * The run request for an issue in an arm.
 * @throws BadInputError naming the field
 */
export function armRequest(
  { budget }: Pick<SentBench, 'budget'>,
  { agent: given, agents, temperature, k, k0, refine, branch, refine_from, seed, judges }: Way,
  rule: GivenRule,
  { issue, candidates, tests }: SavedInput & { readonly issue: Issue },
): RunRequest {
  const own = typeof given === 'object' ? given : { model: given };
  const agent = given === undefined && temperature === undefined ? null : { temperature, ...own };
  const made = candidates === null ? { agent, agents, k, k0, refine, branch, refine_from } : { candidates };
  return runRequest({ ...rule, ...made, issue, tests, seed, verifiers: judges, budget: budget.each });
}
