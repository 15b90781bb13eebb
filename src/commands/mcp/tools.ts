import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { BestkError } from '../../core/errors/errors.js';
import { GivenTest } from '../../core/run/generated-test.js';
import { Issue } from '../../core/run/issue.js';
import { RunResult } from '../../core/run/run-result.js';
import { runRequest, type RunRequest } from '../../core/run/run-request.js';
import { VerifierName } from '../../core/run/verifier.js';
import { hasEnded, type Run } from '../../ports/run-store.js';
import { outcomesIn } from '../../runs/outcomes.js';
import { contentKey } from '../../core/identifier.js';
import { pause } from '../../core/async/time.js';
import type { App } from '../command.js';

/** Below one minute, after which clients abandon a call. */
const WAIT_S = 45;

const WAIT = z
  .number()
  .min(0)
  .max(3_600)
  .default(WAIT_S)
  .describe('Seconds to wait. A longer run continues: ask run_status for it, or send the same call again.');
const RUN_ID = z.string().min(1).max(64);

const HOW = {
  issue: Issue.describe('The problem, and the container image that has the repository.'),
  tests: z
    .array(GivenTest.omit({ instance_id: true }))
    .optional()
    .describe('Tests for the issue: scripts that exit 0 = solved, 2 = not solved.'),
  verifiers: z
    .array(VerifierName)
    .min(1)
    .optional()
    .describe('"eb" runs tests in containers, "ef" asks a judge model.'),
  wait_s: WAIT,
};

const ANNOTATIONS = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Tools for an agent that has candidate patches. */
export function createTools(runs: AgentRuns, version: string): McpServer {
  const server = new McpServer({ name: 'bestk', version });
  server.registerTool(
    'select_patch',
    {
      description:
        'Give your candidate diffs for an issue; get the one most likely right, with P(right) and the evidence. Every candidate is tested in fresh containers.',
      inputSchema: {
        ...HOW,
        candidates: z
          .array(z.object({ candidate_id: z.string(), patch: z.string().describe('Unified git diff.') }))
          .min(1),
        min_confidence: z.number().min(0).max(1).optional().describe('Below this P(right) no patch is returned.'),
      },
      annotations: ANNOTATIONS,
    },
    ({ wait_s, ...asked }) =>
      answer(async () => selectionOf(await runs.after(await runs.start(runRequest(asked)), wait_s))),
  );
  server.registerTool(
    'verify_patch',
    {
      description: 'Test one diff for an issue in fresh containers; get P(right) and what it is based on.',
      inputSchema: { ...HOW, patch: z.string().describe('Unified git diff.') },
      annotations: ANNOTATIONS,
    },
    ({ wait_s, patch, ...asked }) =>
      answer(async () => {
        const request = runRequest({ ...asked, candidates: [{ candidate_id: 'patch', patch }] });
        return verificationOf(await runs.after(await runs.start(request), wait_s));
      }),
  );
  server.registerTool(
    'explain_selection',
    {
      description: 'Why a run selected what it selected: stages, log-odds by source, tests each candidate failed.',
      inputSchema: { run_id: RUN_ID },
      annotations: { ...ANNOTATIONS, readOnlyHint: true },
    },
    ({ run_id }) => answer(async () => explanationOf(await runs.after(run_id, 0))),
  );
  server.registerTool(
    'run_status',
    {
      description: 'How far a run is; its selection once it is done.',
      inputSchema: { run_id: RUN_ID, wait_s: WAIT },
      annotations: { ...ANNOTATIONS, readOnlyHint: true },
    },
    ({ run_id, wait_s }) => answer(async () => selectionOf(await runs.after(run_id, wait_s))),
  );
  return server;
}

/** Returns one JSON document. Bad input or an unavailable service becomes an error that tells the agent what to do. */
async function answer(work: () => Promise<object>): Promise<CallToolResult> {
  try {
    const document = await work();
    return { content: [{ type: 'text', text: JSON.stringify(document) }], structuredContent: { ...document } };
  } catch (error) {
    if (!(error instanceof BestkError)) throw error;
    return { content: [{ type: 'text', text: `${error.message} ${error.next}` }], isError: true };
  }
}

function stateOf({ id, status, failure }: Run): object {
  return { run_id: id, status, ...(failure === null ? {} : { failure }) };
}

function selectionOf(run: Run): object {
  if (run.status !== 'done') return stateOf(run);
  const { selection, patch } = RunResult.parse(run.result);
  const { candidate_id, basis, confidence, deciding_stage, why_none, notes, ranking } = selection;
  const brief = ranking.map(({ candidate_id: id, rank, p_right, flags }) => ({
    candidate_id: id,
    rank,
    p_right,
    flags,
  }));
  return { ...stateOf(run), candidate_id, confidence, basis, deciding_stage, why_none, notes, patch, ranking: brief };
}

function verificationOf(run: Run): object {
  if (!hasEnded(run.status)) return stateOf(run);
  const [outcome] = outcomesIn(run).values();
  return { ...stateOf(run), ...outcome, verdicts: RunResult.parse(run.result).verdicts.map(verdictOf) };
}

function explanationOf(run: Run): object {
  if (run.status !== 'done') return stateOf(run);
  const { selection, verdicts, cells } = RunResult.parse(run.result);
  const missed = cells.filter(({ candidate_id, outcome }) => candidate_id !== null && outcome !== 'solved');
  return {
    ...stateOf(run),
    ...selection,
    verdicts: verdicts.map((verdict) => ({ candidate_id: verdict.candidate_id, ...verdictOf(verdict) })),
    tests_not_solved: missed.map(({ candidate_id, test_id, outcome, kind }) => ({
      candidate_id,
      test_id,
      outcome,
      kind,
    })),
  };
}

function verdictOf(verdict: RunResult['verdicts'][number]): object {
  if (verdict.kind === 'abstained')
    return { measure: verdict.measure, abstained: verdict.reason, detail: verdict.detail };
  return { measure: verdict.measure, score: verdict.score, out_of: verdict.out_of };
}

/** The runs that agents request. They are executed in this process, and continue after a call has returned. */
export class AgentRuns {
  private readonly closing = new AbortController();
  private readonly working = new Map<string, Promise<void>>();

  constructor(private readonly app: App) {}

  /** The run of a request under these settings: the existing one, unless it failed. @throws BadInputError for an impossible request */
  async start(request: RunRequest): Promise<string> {
    const key = `mcp:${contentKey(request)} ${await this.app.setup()}`;
    for (let time = 1; ; time += 1) {
      const run = await this.app.runs.accept(`${key}#${time}`, request, { alone: true });
      if (hasEnded(run.status) && !isGood(run)) continue;
      if (!hasEnded(run.status) && !this.working.has(run.id)) this.working.set(run.id, this.work(run.id));
      return run.id;
    }
  }

  /** The run once it has ended, or after `seconds`. @throws RunNotFoundError */
  async after(id: string, seconds: number): Promise<Run> {
    const over = new AbortController();
    await Promise.race([this.working.get(id), pause(seconds * 1_000, over.signal).catch(() => undefined)]);
    over.abort();
    return this.app.runs.get(id);
  }

  /** Cancels the running runs and waits until their containers are removed. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.working.values());
  }

  private async work(id: string): Promise<void> {
    const { signal } = this.closing;
    const silent = { told: () => undefined, waiting: () => undefined };
    try {
      await this.app.worker.workAlone(id, signal, silent);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (signal.aborted) await this.app.runs.cancel(id).catch(() => undefined);
      this.working.delete(id);
    }
  }
}

/** Whether every candidate of an ended run has an outcome. */
function isGood(run: Run): boolean {
  try {
    outcomesIn(run);
    return true;
  } catch (error) {
    if (!(error instanceof BestkError)) throw error;
    return false;
  }
}
