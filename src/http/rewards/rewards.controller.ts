import { Body, Controller, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { nextTurn, timeoutSignal } from '../../core/async/time.js';
import { contentKey } from '../../core/identifier.js';
import { RunRequest } from '../../core/run/run-request.js';
import { type Outcome, OutcomePendingError, outcomesOf } from '../../runs/outcomes.js';
import { RunService } from '../../runs/run-service.js';
import { leftBy } from '../guard/bodies.js';
import { callerOf } from '../guard/caller.js';
import { json, JSON_TYPE, type Operation, runKey } from '../runs/run-views.js';
import { Audited, runNames } from '../ops/audit.js';
import { InvalidRequestError, RequestPipe } from '../problem.js';
import {
  type CompareAnswer,
  CompareRequest,
  groupsOf,
  patchIn,
  QueryReward,
  ResponseReward,
  type RewardAnswer,
  type RewardGroup,
  textOf,
  type VerifyAnswer,
  VerifyRequest,
  withoutTokens,
} from './reward-bodies.js';

const RewardQuery = z.strictObject({
  /** The default is below 120 s, slime's timeout for retries, the shortest among the supported clients. */
  timeout_s: z.coerce.number().min(1).max(3_600).default(100),
});
type RewardQuery = z.infer<typeof RewardQuery>;

const RETRY_AFTER_S = '1';
/** A diff in the prompt must not be taken for the response's; a tokenizer that alters prompts alters patches as well. */
const NO_PROMPT =
  'does not begin with its prompt. If OpenRLHF shortens it, allow longer prompts, or leave out this one. If the tokenizer drops ' +
  'its spaces, and those of patches, set "clean_up_tokenization_spaces": false in the model’s tokenizer_config.json';
const NO_PATCHES = 'is needed: rewards are of given patches';

/** Rewards for training: P(right) of patches, or an error; a patch that could not be judged gets no reward. */
@Controller()
export class RewardsController {
  private readonly pipe = new RequestPipe();

  constructor(private readonly runs: RunService) {}

  /** A number for a single response; for several, or for a run request, also the outcomes behind the numbers. */
  @Post('v1/reward')
  @Audited('reward')
  @HttpCode(200)
  async reward(
    @Body() body: unknown,
    @Query({ schema: RewardQuery }) query: RewardQuery,
    @Req() asked: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RewardAnswer> {
    const judge = (groups: readonly RewardGroup[]): Promise<readonly Outcome[]> =>
      this.judge(groups, query, asked, response);
    const says = (field: string): boolean => typeof body === 'object' && body !== null && field in body;
    if (says('response')) {
      const { response: said, label } = await this.read(ResponseReward, body);
      // Without this, a bare number would be sent as text, which clients do not parse.
      response.type('json');
      return only(await judge(await groupsOf([{ task: label, patch: patchIn(said), at: 'label' }]))).reward;
    }
    if (!says('query')) {
      const request = await this.read(RunRequest, body);
      if (request.candidates === null) throw new InvalidRequestError([{ path: ['candidates'], message: NO_PATCHES }]);
      return answerOf(await judge([{ request, places: request.candidates.map((_, place) => place) }]));
    }
    const { query: queries, prompts, labels } = await this.read(QueryReward, body);
    const patches = queries.map((text, index) => {
      const prompt = prompts?.[index] ?? '';
      if (!text.startsWith(prompt)) throw new InvalidRequestError([{ path: ['query', index], message: NO_PROMPT }]);
      return { task: labels[index] ?? '', patch: patchIn(text.slice(prompt.length)), at: `labels.${index}` };
    });
    return answerOf(await judge(await groupsOf(patches)));
  }

  /** NeMo Gym's agents begin every rollout with this. There is nothing to prepare. */
  @Post('seed_session')
  @HttpCode(200)
  seedSession(): object {
    return {};
  }

  @Post('verify')
  @Audited('reward')
  @HttpCode(200)
  async verify(
    @Body() body: VerifyRequest,
    @Query({ schema: RewardQuery }) query: RewardQuery,
    @Req() asked: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<VerifyAnswer> {
    const { response: said, verifier_metadata } = await this.read(VerifyRequest, withoutTokens(body));
    const groups = await groupsOf([{ task: verifier_metadata, patch: patchIn(textOf(said)), at: 'verifier_metadata' }]);
    const outcome = only(await this.judge(groups, query, asked, response));
    return { ...body, reward: outcome.reward, mask_sample: false, outcome };
  }

  @Post('compare')
  @Audited('reward')
  @HttpCode(200)
  async compare(
    @Body() body: unknown,
    @Query({ schema: RewardQuery }) query: RewardQuery,
    @Req() asked: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CompareAnswer> {
    const { response_objs, principle } = await this.read(CompareRequest, withoutTokens(body));
    const patches = response_objs.map((said) => ({ task: principle, patch: patchIn(textOf(said)), at: 'principle' }));
    const outcomes = await this.judge(await groupsOf(patches), query, asked, response);
    return comparison(outcomes);
  }

  /** The outcomes of all groups, ordered by position in the request. */
  private async judge(
    groups: readonly RewardGroup[],
    { timeout_s }: RewardQuery,
    asked: Request,
    response: Response,
  ): Promise<readonly Outcome[]> {
    const owner = callerOf(asked).key?.name ?? null;
    const signal = AbortSignal.any([leftBy(response), timeoutSignal(timeout_s * 1_000)]);
    const waiting = runNames(response);
    let turns = Promise.resolve();
    const judged = groups.map(async ({ request, places }) => {
      await (turns = turns.then(() => nextTurn()));
      const key = runKey(`reward:${contentKey(request)}`, owner);
      const outcomes = await outcomesOf(this.runs, key, request, { submitter: owner ?? '', signal, waiting });
      return outcomes.map((outcome, index) => ({ place: places[index] ?? 0, outcome }));
    });
    try {
      return (await Promise.all(judged))
        .flat()
        .sort((a, b) => a.place - b.place)
        .map(({ outcome }) => outcome);
    } catch (error) {
      if (error instanceof OutcomePendingError) response.set('Retry-After', RETRY_AFTER_S);
      throw error;
    }
  }

  private read<T>(schema: z.ZodType<T>, body: unknown): Promise<T> {
    return this.pipe.transform(body as T, { type: 'body', schema });
  }
}

function only([outcome]: readonly Outcome[]): Outcome {
  if (outcome === undefined) throw new Error('One patch has one outcome.');
  return outcome;
}

function answerOf(outcomes: readonly Outcome[]): RewardAnswer {
  const rewards = outcomes.map(({ reward }) => reward);
  return { rewards, scores: rewards, outcomes: [...outcomes] };
}

/** Pairs each response with the next one, cyclically; P(right) of any other pair follows from the rewards. */
function comparison(outcomes: readonly Outcome[]): CompareAnswer {
  const rewards = outcomes.map(({ reward }) => reward);
  const pairs = rewards.length < 2 ? [] : rewards.map((reward, i) => ({ i, j: (i + 1) % rewards.length, reward }));
  return {
    rewards,
    comparison_results: pairs.map(({ i, j, reward }) => ({
      response_i: i,
      response_j: j,
      score_1: reward,
      score_2: rewards[j] ?? 0,
    })),
    metrics: { mean_reward: rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length },
    outcomes: [...outcomes],
  };
}

const problems = {
  422: 'The request lacks a patch or a task.',
  503: 'No reward: the run has not finished (Retry-After), or something required does not respond. Retry with the same body.',
};

/** Rewards of patches, in the formats of the supported training frameworks. */
export const rewardOperations: readonly Operation[] = [
  {
    id: 'reward',
    method: 'POST',
    path: '/v1/reward',
    summary: 'P(right) of patches: a number for one response, or a list with its basis for several.',
    query: RewardQuery,
    body: { types: [JSON_TYPE], schema: 'RewardRequest' },
    answers: { 200: json('RewardAnswer', 'The rewards.') },
    problems,
  },
  {
    id: 'seedSession',
    method: 'POST',
    path: '/seed_session',
    summary: 'Compatible with `/seed_session` of a NeMo Gym resources server; does nothing.',
    body: { types: [JSON_TYPE], schema: 'SeedSessionRequest' },
    answers: { 200: { description: 'An empty object.', type: JSON_TYPE } },
  },
  {
    id: 'verify',
    method: 'POST',
    path: '/verify',
    summary: 'Compatible with `/verify` of a NeMo Gym resources server.',
    query: RewardQuery,
    body: { types: [JSON_TYPE], schema: 'VerifyRequest' },
    answers: { 200: json('VerifyAnswer', 'The request with its reward.') },
    problems,
  },
  {
    id: 'compare',
    method: 'POST',
    path: '/compare',
    summary: 'Compatible with `/compare` of NeMo Gym: the responses to one prompt form one pool.',
    query: RewardQuery,
    body: { types: [JSON_TYPE], schema: 'CompareRequest' },
    answers: { 200: json('CompareAnswer', 'The rewards, in the order of the responses.') },
    problems,
  },
];
