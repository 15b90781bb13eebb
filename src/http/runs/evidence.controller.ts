import { Controller, Get, Header, Param, Query } from '@nestjs/common';
import { RunNotFoundError } from '../../core/errors/errors.js';
import { JudgePrompts } from '../../runs/run-dependencies.js';
import { RunService } from '../../runs/run-service.js';
import { CellsQuery, cellsOf, type CellsView } from './step-views.js';
import { evidenceOf, type OpenedRun } from './evidence-of-run.js';
import { type EvidenceView, type TestView } from './evidence-view.js';
import { judgePromptOf, type JudgePromptView } from './step-views.js';
import { OpenedRuns } from './opened-runs.js';
import { KnownRunId } from './run-params.js';
import { candidateView, type CandidateView, selectedPatch } from './run-views.js';
import { candidateIn, stepsOf, StepsQuery, type StepsView } from './step-views.js';

/** What a run selected and why, in answers small enough for a page; the texts one by one. */
@Controller('v1/runs/:id')
export class EvidenceController {
  private readonly opened: OpenedRuns;

  constructor(
    runs: RunService,
    private readonly prompts: JudgePrompts,
  ) {
    this.opened = new OpenedRuns(runs);
  }

  @Get('patch')
  @Header('Content-Type', 'text/x-diff; charset=utf-8')
  async selected(@Param('id', KnownRunId) id: string): Promise<string> {
    return selectedPatch(await this.open(id));
  }

  @Get('evidence')
  async evidence(@Param('id', KnownRunId) id: string): Promise<EvidenceView> {
    return evidenceOf(await this.open(id));
  }

  /** Cells with their logs: all, or those of one candidate, of base, of one test. */
  @Get('cells')
  async cells(
    @Param('id', KnownRunId) id: string,
    @Query({ schema: CellsQuery }) query: CellsQuery,
  ): Promise<CellsView> {
    return { cells: [...cellsOf((await this.open(id)).result?.cells ?? [], query)] };
  }

  @Get('tests/:testId')
  async test(@Param('id', KnownRunId) id: string, @Param('testId') testId: string): Promise<TestView> {
    const { request, result } = await this.open(id);
    const test = (request.tests ?? result?.tests ?? []).find(({ test_id }) => test_id === testId);
    if (test === undefined) throw new RunNotFoundError(`Run "${id}" has no test "${testId}".`);
    return test;
  }

  @Get('candidates/:candidateId')
  async candidate(
    @Param('id', KnownRunId) id: string,
    @Param('candidateId') candidateId: string,
  ): Promise<CandidateView> {
    return candidateView(await this.open(id), candidateId);
  }

  @Get('candidates/:candidateId/steps')
  async steps(
    @Param('id', KnownRunId) id: string,
    @Param('candidateId') candidateId: string,
    @Query({ schema: StepsQuery }) query: StepsQuery,
  ): Promise<StepsView> {
    return stepsOf(await this.open(id), candidateId, query);
  }

  @Get('candidates/:candidateId/patch')
  @Header('Content-Type', 'text/x-diff; charset=utf-8')
  async patch(@Param('id', KnownRunId) id: string, @Param('candidateId') candidateId: string): Promise<string> {
    return candidateIn(await this.open(id), candidateId).patch;
  }

  @Get('candidates/:candidateId/judge-prompt')
  async judgePrompt(
    @Param('id', KnownRunId) id: string,
    @Param('candidateId') candidateId: string,
  ): Promise<JudgePromptView> {
    return judgePromptOf(await this.open(id), candidateId, this.prompts);
  }

  private open(id: string): Promise<OpenedRun> {
    return this.opened.open(id);
  }
}
