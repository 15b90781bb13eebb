import { json, JSON_TYPE, type Operation } from '../openapi/operation.js';
import { RewardQuery } from './rewards.controller.js';

const problems = {
  422: 'The request does not say what is to be judged, or by what.',
  503: 'No reward: not yet (Retry-After), or what is needed to judge does not answer. Ask again with the same body.',
};

/** Rewards of patches, in the shapes of those who ask for them while they train. */
export const rewardOperations: readonly Operation[] = [
  {
    id: 'reward',
    method: 'POST',
    path: '/v1/reward',
    summary: 'P(right) of patches: a number for one response, and a list with its basis for many.',
    query: RewardQuery,
    body: { types: [JSON_TYPE], schema: 'RewardRequest' },
    answers: { 200: json('RewardAnswer', 'The rewards.') },
    problems,
  },
  {
    id: 'verify',
    method: 'POST',
    path: '/verify',
    summary: 'The same as `/verify` of a resources server of NeMo Gym.',
    query: RewardQuery,
    body: { types: [JSON_TYPE], schema: 'VerifyRequest' },
    answers: { 200: json('VerifyAnswer', 'The request with its reward.') },
    problems,
  },
  {
    id: 'compare',
    method: 'POST',
    path: '/compare',
    summary: 'The same as `/compare` of NeMo Gym: the responses to one prompt as one pool.',
    query: RewardQuery,
    body: { types: [JSON_TYPE], schema: 'CompareRequest' },
    answers: { 200: json('CompareAnswer', 'The rewards, in the order of the responses.') },
    problems,
  },
];
