import { Controller, Get, Header, Param, Query, type StreamableFile } from '@nestjs/common';
import { BenchmarkService, type RunLabels } from '../../runs/benchmark-service.js';
import { JudgePrompts } from '../../runs/run-dependencies.js';
import { RunService } from '../../runs/run-service.js';
import { type EvidenceView, type TestView } from './evidence-view.js';
import { judgePromptOf, JudgePromptQuery, type JudgePromptView } from './judge-prompt-view.js';
import { LargeRuns, OpenedRuns } from './opened-runs.js';
import { KnownRunId } from './run-params.js';
import { type CandidateView } from './run-views.js';
import { CellsQuery, type CellsView, StepsQuery, type StepsView } from './step-views.js';

/** Of a large run, its bytes. */
type Answer<View> = Promise<View | StreamableFile>;

/** What a run selected and why, in answers small enough for a page; the texts one by one. */
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

  /** Beside the evidence, not in it: what is right is known after everything was decided. */
  @Get('labels')
  labels(@Param('id', KnownRunId) id: string): Promise<RunLabels> {
    return this.benchmarks.labels(id);
  }

  /** Cells with their logs: all, or those of one candidate, of base, of one test. */
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
