import { Controller, Get, Header, Param, Query, type StreamableFile } from '@nestjs/common';
import { BenchmarkService, type RunLabels } from '../../runs/benchmark-service.js';
import { JudgePrompts } from '../../runs/run-dependencies.js';
import { RunService } from '../../runs/run-service.js';
import {
  IDEMPOTENT,
  json,
  JSON_TYPE,
  KnownRunId,
  type Operation,
  UNKNOWN_RUN,
  type CandidateView,
} from './run-views.js';
import { type EvidenceView, type TestView } from './evidence-view.js';
import { judgePromptOf, JudgePromptQuery, type JudgePromptView, LargeRuns, OpenedRuns } from './judge-prompt-view.js';
import { CellsQuery, type CellsView, StepsQuery, type StepsView } from './step-views.js';

/** A view, or its bytes for a large run. */
type Answer<View> = Promise<View | StreamableFile>;

/** A run's selection and its evidence, in answers small enough for a page; texts are requested one by one. */
@Controller('v1/runs/:id')
export class EvidenceController {
  private readonly opened: OpenedRuns;

  constructor(
    runs: RunService,
    large: LargeRuns,
    private readonly prompts: JudgePrompts,
    private readonly benchmarks: BenchmarkService,
  ) {
    this.opened = new OpenedRuns(runs, large);
  }

  @Get('patch')
  @Header('Content-Type', 'text/x-diff; charset=utf-8')
  selected(@Param('id', KnownRunId) id: string): Answer<string> {
    return this.opened.part(id, 'selected');
  }

  @Get('evidence')
  evidence(@Param('id', KnownRunId) id: string): Answer<EvidenceView> {
    return this.opened.part(id, 'evidence');
  }

  /** Separate from the evidence, since labels exist only after everything is decided. */
  @Get('labels')
  labels(@Param('id', KnownRunId) id: string): Promise<RunLabels> {
    return this.benchmarks.labels(id);
  }

  /** Cells with their logs: all, or those of one candidate, of the base, or of one test. */
  @Get('cells')
  cells(@Param('id', KnownRunId) id: string, @Query({ schema: CellsQuery }) query: CellsQuery): Answer<CellsView> {
    return this.opened.part(id, 'cells', query);
  }

  @Get('tests/:testId')
  test(@Param('id', KnownRunId) id: string, @Param('testId') testId: string): Answer<TestView> {
    return this.opened.part(id, 'test', testId);
  }

  @Get('candidates/:candidateId')
  candidate(@Param('id', KnownRunId) id: string, @Param('candidateId') candidateId: string): Answer<CandidateView> {
    return this.opened.part(id, 'candidate', candidateId);
  }

  @Get('candidates/:candidateId/steps')
  steps(
    @Param('id', KnownRunId) id: string,
    @Param('candidateId') candidateId: string,
    @Query({ schema: StepsQuery }) query: StepsQuery,
  ): Answer<StepsView> {
    return this.opened.part(id, 'steps', candidateId, query);
  }

  @Get('candidates/:candidateId/patch')
  @Header('Content-Type', 'text/x-diff; charset=utf-8')
  patch(@Param('id', KnownRunId) id: string, @Param('candidateId') candidateId: string): Answer<string> {
    return this.opened.part(id, 'patch', candidateId);
  }

  @Get('candidates/:candidateId/judge-prompt')
  async judgePrompt(
    @Param('id', KnownRunId) id: string,
    @Param('candidateId') candidateId: string,
    @Query({ schema: JudgePromptQuery }) { measure, question }: JudgePromptQuery,
  ): Promise<JudgePromptView> {
    const asked = measure === undefined ? [] : [measure];
    return judgePromptOf(await this.opened.value(id, 'judged', candidateId, ...asked), this.prompts, question);
  }
}

const UNKNOWN_CANDIDATE = { 404: 'There is no such run, or no such candidate in it.' };

/** Operations for a run's evidence and for rescoring it. */
export const evidenceOperations: readonly Operation[] = [
  {
    id: 'getEvidence',
    method: 'GET',
    path: '/v1/runs/{id}/evidence',
    summary: 'Everything the decision was based on, without patches, trajectories and logs.',
    answers: { 200: json('Evidence', 'The evidence.') },
    problems: UNKNOWN_RUN,
  },
  {
    id: 'getLabels',
    method: 'GET',
    path: '/v1/runs/{id}/labels',
    summary: 'Labels of the candidates of a benchmark’s run, available once all runs of its issue have ended.',
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
    problems: { ...UNKNOWN_RUN, 422: 'Invalid query.' },
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
    summary: 'Steps of a trajectory, paged by number.',
    query: StepsQuery,
    answers: { 200: json('Steps', 'The steps.') },
    problems: { ...UNKNOWN_CANDIDATE, 422: 'Invalid query.' },
  },
  {
    id: 'getCandidatePatch',
    method: 'GET',
    path: '/v1/runs/{id}/candidates/{candidate_id}/patch',
    summary: 'The patch of one candidate, as a unified git diff.',
    answers: { 200: { description: 'The patch.', type: 'text/x-diff' } },
    problems: UNKNOWN_CANDIDATE,
  },
  {
    id: 'getJudgePrompt',
    method: 'GET',
    path: '/v1/runs/{id}/candidates/{candidate_id}/judge-prompt',
    summary: 'A judge’s prompt about a candidate, rendered again with the current settings.',
    query: JudgePromptQuery,
    answers: { 200: json('JudgePrompt', 'The messages.') },
    problems: {
      404: 'There is no such run, candidate, judge or question, or the judge cannot be asked about the candidate.',
      409: 'The candidate is too large to be rendered on request.',
      422: 'Invalid query.',
    },
  },
  {
    id: 'getChoices',
    method: 'GET',
    path: '/v1/choices',
    summary: 'Presets and verifiers that a request may name.',
    answers: { 200: json('Choices', 'The choices.') },
  },
  {
    id: 'rescoreRun',
    method: 'POST',
    path: '/v1/runs/{id}/rescore',
    summary: 'Start a new run with the candidates and tests of this one and a different preset or verifiers.',
    headers: IDEMPOTENT,
    body: { types: [JSON_TYPE], schema: 'RescoreRun' },
    answers: { 202: { ...json('RunAccepted', 'Accepted.'), headers: { Location: 'URL of the new run.' } } },
    problems: { ...UNKNOWN_RUN, 409: 'It has no candidates yet.', 422: 'The request is invalid.' },
  },
];
