import { CellsQuery } from './step-views.js';
import { JudgePromptQuery } from './judge-prompt-view.js';
import { StepsQuery } from './step-views.js';
import { IDEMPOTENT, json, JSON_TYPE, type Operation, UNKNOWN_RUN } from '../openapi/operation.js';

const UNKNOWN_CANDIDATE = { 404: 'There is no such run, or no such candidate in it.' };

/** Why a run selected what it selected, and scoring it again. */
export const evidenceOperations: readonly Operation[] = [
  {
    id: 'getEvidence',
    method: 'GET',
    path: '/v1/runs/{id}/evidence',
    summary: 'Everything a decision was made of, without patches, trajectories and logs.',
    answers: { 200: json('Evidence', 'The evidence.') },
    problems: UNKNOWN_RUN,
  },
  {
    id: 'getLabels',
    method: 'GET',
    path: '/v1/runs/{id}/labels',
    summary: 'Whether the candidates of a run of a benchmark are right, once all runs of its issue have ended.',
    answers: { 200: json('RunLabels', 'The labels.') },
    problems: UNKNOWN_RUN,
  },
  {
    id: 'getCells',
    method: 'GET',
    path: '/v1/runs/{id}/cells',
    summary: 'Cells of the tests × candidates matrix with their logs.',
    query: CellsQuery,
    answers: { 200: json('Cells', 'The cells.') },
    problems: { ...UNKNOWN_RUN, 422: 'The query says what cannot be.' },
  },
  {
    id: 'getTest',
    method: 'GET',
    path: '/v1/runs/{id}/tests/{test_id}',
    summary: 'One generated test with its source.',
    answers: { 200: json('GeneratedTest', 'The test.') },
    problems: { 404: 'There is no such run, or no such test in it.' },
  },
  {
    id: 'getSteps',
    method: 'GET',
    path: '/v1/runs/{id}/candidates/{candidate_id}/steps',
    summary: 'Steps of a trajectory, by number.',
    query: StepsQuery,
    answers: { 200: json('Steps', 'The steps.') },
    problems: { ...UNKNOWN_CANDIDATE, 422: 'The query says what cannot be.' },
  },
  {
    id: 'getCandidatePatch',
    method: 'GET',
    path: '/v1/runs/{id}/candidates/{candidate_id}/patch',
    summary: 'The patch of one candidate, a unified git diff.',
    answers: { 200: { description: 'The patch.', type: 'text/x-diff' } },
    problems: UNKNOWN_CANDIDATE,
  },
  {
    id: 'getJudgePrompt',
    method: 'GET',
    path: '/v1/runs/{id}/candidates/{candidate_id}/judge-prompt',
    summary: 'What a judge asks about a candidate, rendered again under the present settings.',
    query: JudgePromptQuery,
    answers: { 200: json('JudgePrompt', 'The messages.') },
    problems: {
      404: 'There is no such run, candidate, judge or question, or nothing that it could be asked.',
      409: 'The candidate is too large to be rendered while others wait.',
      422: 'The query says what cannot be.',
    },
  },
  {
    id: 'getChoices',
    method: 'GET',
    path: '/v1/choices',
    summary: 'What preset and verifiers of a request may say.',
    answers: { 200: json('Choices', 'The choices.') },
  },
  {
    id: 'rescoreRun',
    method: 'POST',
    path: '/v1/runs/{id}/rescore',
    summary: 'Start a run over the candidates and tests of this one, with another preset or other verifiers.',
    headers: IDEMPOTENT,
    body: { types: [JSON_TYPE], schema: 'RescoreRun' },
    answers: { 202: { ...json('RunAccepted', 'Accepted.'), headers: { Location: 'Where the new run is.' } } },
    problems: { ...UNKNOWN_RUN, 409: 'It has no candidates yet.', 422: 'The request says what cannot be done.' },
  },
];
