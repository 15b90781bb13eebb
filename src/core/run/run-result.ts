import { z } from 'zod';
import { Cell, GeneratedTest, TestQuality } from './generated-test.js';
import { Measure, Verdict } from './verdict.js';
import { Rollout } from './rollout.js';
import { Admission } from './verifier.js';
import { UnstorableResultError } from '../errors/unavailable.js';

/** Trace of one stage of the hybrid: candidates kept and dropped, in ranking order. */
export const StageTrace = z.object({
  name: z.string(),
  kept: z.array(z.string()),
  dropped: z.array(z.string()),
  /** Why a stage kept every candidate, e.g. none was scored; null when it decided. */
  skipped: z.string().nullable(),
});
export type StageTrace = z.infer<typeof StageTrace>;

export const RankedCandidate = z.object({
  candidate_id: z.string(),
  /** From 1; ranks are unique. */
  rank: z.int().positive(),
  scores: z.record(z.string(), z.number().nullable()),
  /** P(the patch is right) given all evidence in the pool, 0..1; null in selections of older versions. */
  p_right: z.number().min(0).max(1).nullable().default(null),
  /**
   * Each source's contribution to the natural log-odds of being right; they sum to those of `p_right`. Sources are
   * `prior`, measures by name, `votes` (equal changes) and `submitted`; empty for a candidate that cannot be returned.
   */
  log_odds: z.record(z.string(), z.number()).default({}),
  flags: z.array(z.string()),
});
export type RankedCandidate = z.infer<typeof RankedCandidate>;

/** The answer for one instance; `selection.json`. */
export const Selection = z.object({
  instance_id: z.string(),
  /** The Best@K candidate, or null when none was worth returning. */
  candidate_id: z.string().nullable(),
  /** `hybrid`: verdicts contributed; `fallback`: only tie-breaks did; `none`: nothing to return. */
  basis: z.enum(['hybrid', 'fallback', 'none']),
  /** The stage after which one candidate (or one patch) was left; null when there was nothing to decide. */
  deciding_stage: z.string().nullable(),
  /**
   * P(right) of the first in the ranking, returned or not, 0..1, calibrated if labels were given; null if none can be
   * returned.
   */
  confidence: z.number().min(0).max(1).nullable(),
  /** Why no patch is returned, for people; null when one is. */
  why_none: z.string().nullable().default(null),
  /** Remarks on the decision as a whole, e.g. that judge and tests prefer different patches. */
  notes: z.array(z.string()).default([]),
  ranking: z.array(RankedCandidate),
  stages: z.array(StageTrace),
});
export type Selection = z.infer<typeof Selection>;

/** Model calls of one purpose on one model. */
export const ModelUsage = z.object({
  purpose: z.string(),
  model: z.string(),
  calls: z.int(),
  /** Answers taken from the store: not paid again. */
  stored_answers: z.int(),
  input_tokens: z.int(),
  cached_input_tokens: z.int(),
  output_tokens: z.int(),
  seconds: z.number(),
});
export type ModelUsage = z.infer<typeof ModelUsage>;

export const Usage = z.object({
  /** Calls of this process: an answer from the store is not paid again. */
  models: z.array(ModelUsage),
  /** Input and output tokens together, of answers paid now or earlier; null in runs of older versions. */
  tokens: z.int().nullable().default(null),
  /** Cost of the same answers; null if no prices are known. */
  cost_usd: z.number().nullable(),
  /** Wall seconds by stage. */
  stages: z.record(z.string(), z.number()),
});
export type Usage = z.infer<typeof Usage>;

/** Input and output tokens together, of paid answers. */
export function sumOfTokens(models: readonly Pick<ModelUsage, 'input_tokens' | 'output_tokens'>[]): number {
  return models.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0);
}

/** Tokens of a whole run, regardless of how often its process was killed. */
export function tokensOfRun({
  tokens,
  models,
}: {
  readonly tokens: number | null;
  readonly models: Parameters<typeof sumOfTokens>[0];
}): number {
  return tokens ?? sumOfTokens(models);
}

/** The agent of a run: its limits by their names in `AgentLimits` (`src/core/run/agent.ts`). */
export const AgentDescription = z.object({
  /** Null for a run's only agent. */
  name: z.string().nullable().default(null),
  model: z.string(),
  endpoint: z.string(),
  format: z.string(),
  temperature: z.number(),
  top_p: z.number().nullable().default(null),
  limits: z.record(z.string(), z.number().nullable()),
  /** Command of an agent that is an external program; null = bestk's agent. */
  command: z.string().nullable().default(null),
  /** The prompt that the model was trained with, if that is used; null = bestk's. */
  prompt: z.string().nullable().default(null),
});
export type AgentDescription = z.infer<typeof AgentDescription>;

/** What a decision depended on besides its request; enough to tell whether two runs are comparable. */
export const Provenance = z.object({
  bestk_version: z.string(),
  image_id: z.string().nullable(),
  verifier_model: z.string().nullable(),
  /** Null when no tests were written. */
  test_model: z.string().nullable().default(null),
  /** Null when candidates were given. */
  agent: AgentDescription.nullable().default(null),
  /** The agents of a run with several, whose `agent` is null. */
  agents: z.array(AgentDescription).default([]),
  prompt_hashes: z.record(z.string(), z.string()),
  preset: z.string(),
  /** SHA-256 of `preset`, `combiner` and `calibration`, for those given instead of the shipped rules. */
  rule_hashes: z.record(z.string(), z.string()).default({}),
  verifiers: z.array(z.string()),
  sandbox_limits: z.record(z.string(), z.number()),
});
export type Provenance = z.infer<typeof Provenance>;

/** Counts of one agent's rollouts, and what the posterior expects of them without labels. */
export const AgentStatistics = z.object({
  agent: z.string(),
  k: z.int().min(0),
  distinct_patches: z.int().min(0),
  expected_pass_at_1: z.number().min(0).max(1).nullable(),
  expected_pass_at_k: z.number().min(0).max(1).nullable(),
});
export type AgentStatistics = z.infer<typeof AgentStatistics>;

/** Counts of one run's candidates and tests, and what to expect of them. */
export const RunStatistics = z.object({
  /** Number of candidates given. */
  k: z.int().min(0),
  /** Number of distinct changes of source, whatever context their diffs show. */
  distinct_patches: z.int().min(0),
  /** Number of candidates with at least one score. */
  verified: z.int().min(0),
  tests_given: z.int().min(0),
  tests_admitted: z.int().min(0),
  /** Expected by the posterior, without labels: mean P(right), and P(at least one is right); null in older runs. */
  expected_pass_at_1: z.number().min(0).max(1).nullable().default(null),
  expected_pass_at_k: z.number().min(0).max(1).nullable().default(null),
  /** One entry per agent if the run has several; otherwise empty. */
  agents: z.array(AgentStatistics).default([]),
});
export type RunStatistics = z.infer<typeof RunStatistics>;

/** How the second wave went. */
export const Refined = z.object({
  asked: z.int(),
  sampled: z.int(),
  /** Candidates of the first wave described in its prompts. */
  told_of: z.array(z.string()),
  /** Why the wave was made, or why not. */
  detail: z.string(),
});
export type Refined = z.infer<typeof Refined>;

/** Rollouts that continued from one of the first wave. */
export const Branched = Refined.omit({ told_of: true }).extend({
  /** The candidate whose first steps they share, and how many; null when there are none. */
  from: z.object({ candidate_id: z.string(), steps: z.int() }).nullable(),
});
export type Branched = z.infer<typeof Branched>;

/** How sampling went. */
export const Sampling = z.object({
  asked: z.int(),
  sampled: z.int(),
  /** Why no more were sampled. */
  stopped: z.enum(['all', 'agreement', 'budget']),
  detail: z.string(),
  /** Rollouts that could not be made: a failure of the model or the engine, not of the agent. */
  failed: z.array(z.object({ candidate_id: z.string(), code: z.string(), message: z.string() })),
  /** The second wave, whose prompts described the best of the first; null when none was requested. */
  refined: Refined.nullable().default(null),
  /** Rollouts that continued from the most promising of the first wave; null when none were requested. */
  branched: Branched.nullable().default(null),
});
export type Sampling = z.infer<typeof Sampling>;

/** The result of a finished run, as stored. */
export const RunResult = z.object({
  selection: Selection,
  verdicts: z.array(Verdict),
  /** The measures declared by the run's verifiers. */
  measures: z.array(Measure).default([]),
  cells: z.array(Cell),
  admissions: z.array(Admission),
  /** The value of each admitted test, estimated by the latent model from these outcomes only. */
  test_quality: z.array(TestQuality).default([]),
  /** The selected patch, a unified git diff; null when none was worth returning. */
  patch: z.string().nullable(),
  statistics: RunStatistics,
  usage: Usage,
  provenance: Provenance,
  /** The tests that a model wrote for this run; empty when tests were given or none are written. */
  tests: z.array(GeneratedTest).default([]),
  /** The trajectories that bestk sampled; empty when candidates were given. */
  rollouts: z.array(Rollout).default([]),
  /** Null when candidates were given. */
  sampling: Sampling.nullable().default(null),
});
export type RunResult = z.infer<typeof RunResult>;

/** The small part of a result that answers how the run went. */
export const RunAnswer = RunResult.pick({ selection: true, statistics: true, usage: true });
export type RunAnswer = z.infer<typeof RunAnswer>;

/** @throws UnstorableResultError if the part that answers how the run went could not be read again from the store */
export function requireStorable(result: RunResult): RunResult {
  const issue = RunAnswer.safeParse(result).error?.issues[0];
  if (issue === undefined) return result;
  throw new UnstorableResultError(`${issue.path.join('.')}: ${issue.message}`);
}

/** What lists of runs show, without parts that can be megabytes. Null = not known (yet). */
export const RunBrief = z.object({
  name: z.string().nullable(),
  tags: z.array(z.string()),
  instance_id: z.string().nullable(),
  k: z.int().nullable(),
  preset: z.string().nullable(),
  /** The selected candidate; null also when none was worth returning. */
  candidate_id: z.string().nullable(),
  basis: z.string().nullable(),
  deciding_stage: z.string().nullable(),
  confidence: z.number().nullable(),
  /** Input and output, paid now or earlier. */
  tokens: z.number().nullable(),
  cost_usd: z.number().nullable(),
  seconds: z.number().nullable().describe('Wall time of its stages, without queueing.'),
});
export type RunBrief = z.infer<typeof RunBrief>;

const Asked = z.object({
  name: RunBrief.shape.name.catch(null),
  tags: RunBrief.shape.tags.catch([]),
  issue: z.object({ instance_id: RunBrief.shape.instance_id.catch(null) }).catch({ instance_id: null }),
  k: RunBrief.shape.k.catch(null),
  preset: z
    .union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)])
    .nullable()
    .catch(null),
});

const { candidate_id, basis, deciding_stage, confidence, cost_usd } = RunBrief.shape;
const Answered = z.object({
  selection: z.object({
    candidate_id: candidate_id.catch(null),
    basis: basis.catch(null),
    deciding_stage: deciding_stage.catch(null),
    confidence: confidence.catch(null),
  }),
  usage: z
    .object({
      cost_usd: cost_usd.catch(null),
      tokens: Usage.shape.tokens.catch(null),
      models: z.array(ModelUsage.pick({ input_tokens: true, output_tokens: true })).catch([]),
      stages: Usage.shape.stages.nullable().catch(null),
    })
    .transform(({ cost_usd: usd, stages, ...usage }) => ({
      ...{ cost_usd: usd, tokens: tokensOfRun(usage) },
      seconds: stages === null ? null : Object.values(stages).reduce((sum, each) => sum + each, 0),
    }))
    .catch({ cost_usd: null, tokens: 0, seconds: null }),
});

type Asked = 'name' | 'tags' | 'instance_id' | 'k' | 'preset';

/** From a request as accepted. Missing or malformed members become null: nothing here affects a decision. */
export function briefOfRequest(request: unknown): Pick<RunBrief, Asked> {
  const asked = Asked.safeParse(request);
  if (!asked.success) return { name: null, tags: [], instance_id: null, k: null, preset: null };
  const { name, tags, issue, k, preset } = asked.data;
  return { name, tags, instance_id: issue.instance_id, k, preset };
}

/** From the result of a finished run, likewise. */
export function briefOfResult(result: unknown): Omit<RunBrief, Asked> {
  const answered = Answered.safeParse(result);
  if (!answered.success) {
    const nothing = { candidate_id: null, basis: null, deciding_stage: null, confidence: null };
    return { ...nothing, tokens: null, cost_usd: null, seconds: null };
  }
  const { selection, usage } = answered.data;
  return { ...selection, ...usage };
}
