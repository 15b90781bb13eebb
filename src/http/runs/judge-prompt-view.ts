import { z } from 'zod';
import { RunConflictError, RunNotFoundError } from '../../core/errors/errors.js';
import type { Candidate } from '../../core/run/candidate.js';
import { EXECUTION_FREE } from '../../core/run/measure.js';
import type { Verdict } from '../../core/run/verdict.js';
import { isJudge, judgeNamed, VerifierName } from '../../core/run/verifier.js';
import type { JudgedBefore, JudgePrompts } from '../../runs/run-dependencies.js';
import type { OpenedRun } from './evidence-of-run.js';
import { candidateIn } from './step-views.js';

/** `?measure=…` of several judges that one, absent = the first; `?question=1` of several questions that one, from 0. */
export const JudgePromptQuery = z.object({
  measure: z.string().max(200).optional(),
  question: z.coerce.number().int().min(0).default(0),
});
export type JudgePromptQuery = z.infer<typeof JudgePromptQuery>;

/** What a judge asks about a candidate, rendered again from the stored run under the present settings. */
export const JudgePromptView = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  /** Which of the judge's questions about the candidate it is, from 0, and how many these are. */
  question: z.int(),
  questions: z.int(),
  /** The candidate beside it, of several the first; null for a judge that does not compare. */
  compared_with: z.string().nullable(),
  /** Whether its verdict was asked for by these templates; null when it has none. */
  same_template: z.boolean().nullable(),
  /** What the judge had before it and is not rendered again: `source` is read in a container, `tests` are what they said then. */
  left_out: z.array(z.string()),
});
export type JudgePromptView = z.infer<typeof JudgePromptView>;

/** What of a run says how a candidate's prompts are rendered, and how they were. */
export interface Judged extends JudgedBefore {
  /** Of the templates that its verdict was asked for by; null when it has none. */
  readonly prompt_hash: string | null;
  readonly shown: readonly string[];
}

const COMPARING = new Set(['pairwise', 'pairs']);
/** Characters and steps that are rendered while others wait. */
const MOST_RENDERED = 2_000_000;
const MOST_STEPS = 5_000;

/** @throws RunConflictError for a candidate that would take seconds */
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

/** @throws RunNotFoundError when there is no such candidate or judge, RunConflictError for one that is too large */
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

/** A judge among several has its own measure; the measure of one alone does not say how it asks, but the run does. */
function verifierOf({ request, result }: OpenedRun, measure: string | null): VerifierName {
  if (measure !== null && measure !== EXECUTION_FREE.name) return measure;
  const names = request.verifiers ?? result?.provenance.verifiers ?? [];
  return names.map((name) => VerifierName.catch('eb').parse(name)).find(isJudge) ?? 'ef';
}

/** For a judge that compares, somebody with another patch: one that lost against it, or the first. */
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

/** @throws RunNotFoundError when there is nothing to judge, or no such question */
export async function judgePromptOf(
  { prompt_hash, shown, ...judged }: Judged,
  prompts: JudgePrompts,
  question = 0,
): Promise<JudgePromptView> {
  const asked = await prompts.of(judged);
  const [candidate, other] = judged.candidates;
  const id = candidate?.candidate_id ?? '';
  const messages = asked.prompts[question];
  if (asked.prompts.length === 0)
    throw new RunNotFoundError(`There is nothing about candidate "${id}" that the judge could be asked.`);
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
