import { z } from 'zod';
import { PageQuery } from './run-page.js';
import { IDEMPOTENT, json, JSON_TYPE, type Operation, UNKNOWN_RUN } from '../openapi/operation.js';

/** Of the operations that follow something. */
export const LAST_EVENT_ID: Operation['headers'] & object = {
  'Last-Event-ID': {
    description: '`seq` of the last event that is known; the stream goes on after it.',
    schema: z.string().regex(/^\d{0,15}$/),
  },
};

/** What can be asked of runs. */
export const runOperations: readonly Operation[] = [
  {
    id: 'submitRun',
    method: 'POST',
    path: '/v1/runs',
    summary: 'Start a run: sample trajectories or take candidates, verify and select.',
    headers: IDEMPOTENT,
    body: { types: [JSON_TYPE], schema: 'RunRequest' },
    answers: { 202: { ...json('RunAccepted', 'Accepted.'), headers: { Location: 'Where the run is.' } } },
    problems: { 422: 'The request says what cannot be done, or its key was used for another one.' },
  },
  {
    id: 'listRuns',
    method: 'GET',
    path: '/v1/runs',
    summary: 'Runs, newest first, a page at a time.',
    query: PageQuery,
    answers: { 200: json('RunPage', 'A page.') },
    problems: { 422: 'The limit or the cursor is wrong.' },
  },
  {
    id: 'getRun',
    method: 'GET',
    path: '/v1/runs/{id}',
    summary: 'Status, progress, selection, statistics and usage of a run.',
    answers: { 200: json('Run', 'The run.') },
    problems: UNKNOWN_RUN,
  },
  {
    id: 'deleteRun',
    method: 'DELETE',
    path: '/v1/runs/{id}',
    summary: 'Delete a run that has ended, with its journal.',
    answers: { 204: { description: 'It is gone.' } },
    problems: { ...UNKNOWN_RUN, 409: 'It has not ended.' },
  },
  {
    id: 'followRun',
    method: 'GET',
    path: '/v1/runs/{id}/events',
    summary: 'The journal of a run as server-sent events: what is there, then what is added, until the run has ended.',
    headers: LAST_EVENT_ID,
    answers: {
      200: { description: 'Events; the data of each is a RunEvent.', type: 'text/event-stream', schema: 'RunEvent' },
      204: { description: 'The run has ended, and nothing comes after that event.' },
    },
    problems: { ...UNKNOWN_RUN, 422: 'Last-Event-ID is no number.' },
  },
  {
    id: 'getPatch',
    method: 'GET',
    path: '/v1/runs/{id}/patch',
    summary: 'The selected patch, a unified git diff.',
    answers: { 200: { description: 'The patch.', type: 'text/x-diff' } },
    problems: { 404: 'There is no such run, or no patch was worth returning.', 409: 'The run has not ended.' },
  },
  {
    id: 'getCandidate',
    method: 'GET',
    path: '/v1/runs/{id}/candidates/{candidate_id}',
    summary: 'One candidate: patch, trajectory, verdicts and its row of the matrix.',
    answers: { 200: json('Candidate', 'The candidate.') },
    problems: { 404: 'There is no such run, or no such candidate in it.' },
  },
  {
    id: 'cancelRun',
    method: 'POST',
    path: '/v1/runs/{id}/cancel',
    summary: 'Stop a run; its containers are gone within 5 s. Twice is harmless.',
    answers: { 202: json('RunAccepted', 'Cancelled.') },
    problems: { ...UNKNOWN_RUN, 409: 'It ended by itself before.' },
  },
];
