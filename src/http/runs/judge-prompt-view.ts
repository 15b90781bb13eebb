import { ServiceUnavailableException, StreamableFile } from '@nestjs/common';
import { z } from 'zod';
import { RunConflictError, RunNotFoundError } from '../../core/errors/errors.js';
import type { Candidate } from '../../core/run/candidate.js';
import { EXECUTION_FREE, type Verdict } from '../../core/run/verdict.js';
import { isJudge, judgeNamed, VerifierName } from '../../core/run/verifier.js';
import { hasEnded } from '../../ports/run-store.js';
import type { JudgedBefore, JudgePrompts } from '../../runs/run-dependencies.js';
import type { RunService } from '../../runs/run-service.js';
import { evidenceOf, type OpenedRun, openRun } from './evidence-of-run.js';
import { candidateView, selectedPatch } from './run-views.js';
import { candidateIn, cellsOf, type CellsQuery, type CellsView, stepsOf, testIn } from './step-views.js';

/** `?measure=…`: the judge, absent = the first; `?question=1`: one of its questions, from 0. */
export const JudgePromptQuery = z.object({
  measure: z.string().max(200).optional(),
  question: z.coerce.number().int().min(0).default(0),
});
export type JudgePromptQuery = z.infer<typeof JudgePromptQuery>;

/** A judge's prompt about a candidate, rendered again from the stored run under the present settings. */
export const JudgePromptView = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  /** Index of this question among the judge's questions about the candidate, from 0, and their number. */
  question: z.int(),
  questions: z.int(),
  /** The candidate it is compared with, the first if there are several; null for a judge that does not compare. */
  compared_with: z.string().nullable(),
  /** Whether its verdict was made with these templates; null if there is no verdict. */
  same_template: z.boolean().nullable(),
  /**
   * Parts of the original prompt that are not rendered again: `source`, read in a container, and `tests`, the results at that
   * time.
   */
  left_out: z.array(z.string()),
});
export type JudgePromptView = z.infer<typeof JudgePromptView>;

/** The data of a run needed to render a candidate's prompts, and how they were rendered before. */
interface Judged extends JudgedBefore {
  /** Hash of the templates used for its verdict; null if there is none. */
  readonly prompt_hash: string | null;
  readonly shown: readonly string[];
}

const COMPARING = new Set(['pairwise', 'pairs']);
/** Most characters and steps rendered on the main thread, while other requests wait. */
const MOST_RENDERED = 2_000_000;
const MOST_STEPS = 5_000;

/** @throws RunConflictError for a candidate whose rendering would take seconds */
function requirePassing({ run, request }: OpenedRun, { candidate_id, patch, trajectory }: Candidate): void {
  const steps = trajectory?.steps ?? [];
  const characters = steps.reduce(
    (sum, { thought, action, observation }) => sum + thought.length + action.length + observation.length,
    patch.length + request.issue.problem_statement.length,
  );
  if (characters <= MOST_RENDERED && steps.length <= MOST_STEPS) return;
  throw new RunConflictError(
    `Candidate "${candidate_id}" of run "${run.id}" is too large for its prompt to be rendered here.`,
    'Look at its steps instead.',
  );
}

/** @throws RunNotFoundError if there is no such candidate or judge, RunConflictError for a candidate that is too large */
export function judgedIn(opened: OpenedRun, candidateId: string, measure?: string): Judged {
  const candidate = candidateIn(opened, candidateId);
  const verdict = verdictOf(opened, candidateId, measure);
  if (measure !== undefined && verdict === null)
    throw new RunNotFoundError(`No judge of the measure "${measure}" judged candidate "${candidateId}".`);
  const verifier = verifierOf(opened, verdict?.measure ?? null);
  const candidates = [candidate, ...otherThan(candidate, opened, { verdict, verifier })];
  for (const each of candidates) requirePassing(opened, each);
  const evidence = candidates.map(({ candidate_id }) => {
    return verdictOf(opened, candidate_id, verdict?.measure)?.evidence ?? null;
  });
  const { issue } = opened.request;
  return { issue, candidates, verifier, evidence, ...whatItSaw(evidence[0] ?? {}) };
}

function whatItSaw({ prompt_hash: hash, shown }: Verdict['evidence']): Pick<Judged, 'prompt_hash' | 'shown'> {
  return {
    prompt_hash: typeof hash === 'string' ? hash : null,
    shown: z.array(z.string()).catch([]).parse(shown),
  };
}

/** A judge's verdict on a candidate: of this measure, or the first. */
function verdictOf({ result }: OpenedRun, candidateId: string, measure: string | undefined): Verdict | null {
  const of = result?.verdicts.find(
    ({ candidate_id, measure: its }) =>
      candidate_id === candidateId && isJudges(its) && (measure === undefined || its === measure),
  );
  return of ?? null;
}

function isJudges(measure: string): boolean {
  return measure === EXECUTION_FREE.name || isJudge(measure);
}

/** One of several judges is identified by its measure; a single judge's measure does not identify it, but the run does. */
function verifierOf({ request, result }: OpenedRun, measure: string | null): VerifierName {
  if (measure !== null && measure !== EXECUTION_FREE.name) return measure;
  const names = request.verifiers ?? result?.provenance.verifiers ?? [];
  return names.map((name) => VerifierName.catch('eb').parse(name)).find(isJudge) ?? 'ef';
}

/** For a comparing judge, a candidate with another patch: one that lost the comparison, or the first. */
function otherThan(
  { patch }: Candidate,
  { candidates }: OpenedRun,
  { verdict, verifier }: { readonly verdict: Verdict | null; readonly verifier: VerifierName },
): readonly Candidate[] {
  if (!COMPARING.has(judgeNamed(verifier)?.method ?? '')) return [];
  const { beats } = verdict?.evidence ?? {};
  const others = candidates.filter((each) => each.patch !== patch && each.patch.trim() !== '');
  const beaten = others.find(({ candidate_id }) => Array.isArray(beats) && beats.includes(candidate_id));
  return [beaten ?? others[0]].filter((each) => each !== undefined);
}

/** @throws RunNotFoundError if there is nothing to judge, or no such question */
export async function judgePromptOf(
  { prompt_hash, shown, ...judged }: Judged,
  prompts: JudgePrompts,
  question = 0,
): Promise<JudgePromptView> {
  const asked = await prompts.of(judged);
  const [candidate, other] = judged.candidates;
  const id = candidate?.candidate_id ?? '';
  const messages = asked.prompts[question];
  if (asked.prompts.length === 0) throw new RunNotFoundError(`There is no judge prompt about candidate "${id}".`);
  if (messages === undefined) {
    const last = `The last question about candidate "${id}" is ${asked.prompts.length - 1}, counted from 0.`;
    throw new RunNotFoundError(last);
  }
  return {
    messages: messages.map(({ role, content }) => ({ role, content })),
    ...{ question, questions: asked.prompts.length, compared_with: other?.candidate_id ?? null },
    same_template: prompt_hash === null ? null : prompt_hash === asked.hash,
    left_out: shown.filter((name) => name === 'source' || name === 'tests'),
  };
}

/** Runs cached: a page requests several parts of one run, and a comparison two runs. */
const KEPT = 2;
/** Bytes of a run that is parsed in some hundredths of a second, whatever its content. */
const READ_HERE = 1024 * 1024;
/** Most requests waiting for larger runs, which are read one at a time. */
const MOST_WAITING = 32;
const TOO_MANY = new ServiceUnavailableException('Too many large runs are being read; try again in a moment.');

/** The parts of a run that can be requested. */
const PARTS = {
  selected: selectedPatch,
  evidence: evidenceOf,
  cells: ({ result }: OpenedRun, query: CellsQuery): CellsView => ({ cells: [...cellsOf(result?.cells ?? [], query)] }),
  test: testIn,
  candidate: candidateView,
  steps: stepsOf,
  patch: (opened: OpenedRun, candidateId: string): string => candidateIn(opened, candidateId).patch,
  judged: judgedIn,
};
type Parts = typeof PARTS;
type Asked<Name extends keyof Parts> = Parameters<Parts[Name]> extends [OpenedRun, ...infer Asked] ? Asked : never;
type Part<Name extends keyof Parts> = ReturnType<Parts[Name]>;

/** A request for a part of a run; plain data. */
export interface PartJob {
  readonly id: string;
  readonly name: keyof Parts;
  readonly asked: readonly unknown[];
}

/** @throws errors of the part, RunNotFoundError, RunConflictError */
export function partOf(opened: OpenedRun, { name, asked }: Pick<PartJob, 'name' | 'asked'>): unknown {
  return (PARTS[name] as (opened: OpenedRun, ...asked: readonly unknown[]) => unknown)(opened, ...asked);
}

/** Reads parts of large runs without blocking other requests. Bound in the composition root. */
export abstract class LargeRuns {
  /**
   * @returns text unchanged, anything else as JSON
   * @throws errors of the part
   */
  abstract read(job: PartJob): Promise<Uint8Array>;
}

/**
 * Reads runs and caches the most recent ended ones. As these can be deleted or retried, `updated_at` is checked on each use.
 */
export class OpenedRuns {
  private readonly kept = new Map<string, OpenedRun>();
  private waiting = 0;

  constructor(
    private readonly runs: Pick<RunService, 'get' | 'overview' | 'size'>,
    private readonly large: LargeRuns,
  ) {}

  /**
   * A part of a run; for a large run, the bytes of the answer.
   * @throws RunNotFoundError, and errors of the part
   */
  async part<Name extends keyof Parts>(
    id: string,
    name: Name,
    ...asked: Asked<Name>
  ): Promise<Part<Name> | StreamableFile> {
    const bytes = await this.readElsewhere({ id, name, asked });
    if (bytes === null) return partOf(await this.open(id), { name, asked }) as Part<Name>;
    const type = name === 'selected' || name === 'patch' ? 'text/x-diff' : 'application/json';
    return new StreamableFile(bytes, { type: `${type}; charset=utf-8`, length: bytes.length });
  }

  /** The same, parsed, for further processing. */
  async value<Name extends keyof Parts>(id: string, name: Name, ...asked: Asked<Name>): Promise<Part<Name>> {
    const bytes = await this.readElsewhere({ id, name, asked });
    if (bytes !== null) return JSON.parse(Buffer.from(bytes).toString()) as Part<Name>;
    return partOf(await this.open(id), { name, asked }) as Part<Name>;
  }

  /** @returns null for a run small enough to be read here */
  private async readElsewhere(job: PartJob): Promise<Uint8Array | null> {
    if ((await this.runs.size(job.id)) <= READ_HERE) return null;
    if (this.waiting >= MOST_WAITING) throw TOO_MANY;
    this.waiting += 1;
    return this.large.read(job).finally(() => (this.waiting -= 1));
  }

  /** @throws RunNotFoundError */
  private async open(id: string): Promise<OpenedRun> {
    const known = this.kept.get(id);
    this.kept.delete(id);
    if (known !== undefined && (await this.runs.overview(id)).updated_at === known.run.updated_at) {
      return this.keep(id, known);
    }
    const opened = openRun(await this.runs.get(id));
    return hasEnded(opened.run.status) ? this.keep(id, opened) : opened;
  }

  private keep(id: string, opened: OpenedRun): OpenedRun {
    this.kept.set(id, opened);
    for (const oldest of [...this.kept.keys()].slice(0, -KEPT)) this.kept.delete(oldest);
    return opened;
  }
}
