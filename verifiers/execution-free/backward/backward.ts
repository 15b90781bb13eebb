import { contentKey } from '../../../src/core/identifier.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import { judgeMeasure } from '../../../src/core/run/verdict.js';
import { readPatch } from '../../../src/core/patch/patch.js';
import { isScratch } from '../../../src/core/patch/file-roles.js';
import type { VerificationTask, Verifier } from '../../../src/core/run/verifier.js';
import { ask, askWarm, prefilled, tokensOf, readTaggedToken } from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import { abstained, type InTurn, type Judged, mean, pointwiseVerifier } from '../pointwise/pointwise.js';
import { SCORE_TAG } from '../pointwise/rubric.js';
import { excerpt, type RenderedAttempt } from '../render/render-attempt.js';
import { promptHash } from '../render/question.js';

const DESCRIBE = 'verifier/backward';
const COMPARE = 'verifier/reconcile';
const DESCRIPTION_TOKENS = 1_024;
const LONGEST_DESCRIPTION = 4_000;

const WORTH = { A: 1, B: 0.5, C: 0 } as const;
type Letter = keyof typeof WORTH;
const WORDS = { A: 'same', B: 'partial', C: 'different' } as const;

const MEANING =
  'whether the problem that the patch solves, told by a model that did not see the issue, is the issue’s, 0 to 1: P(same) + P(partial) / 2';

/**
 * Asks which problem the patch solves, without showing the issue; then whether that is the issue's problem (RETRACE, arXiv
 * 2608.08950). Neither question shows the record of the agent's work, its tests or its scratch scripts, which mention the
 * issue.
 */
export function createBackwardVerifier(given: JudgeOptions): Verifier {
  const show = given.show.filter((section) => section === 'source');
  const measure = judgeMeasure(`ef:backward@${given.model}`, MEANING);
  const options = { ...given, show, measure, secondOpinion: false };
  const pointwise = pointwiseVerifier(options, (rendered, signal, inTurn) => {
    return judge(options, rendered, { signal, inTurn });
  });
  const blind = (task: VerificationTask): VerificationTask => {
    const candidates = task.candidates.map((each) => ({ ...each, patch: changeAlone(each.patch), trajectory: null }));
    return { ...task, candidates };
  };
  return { ...pointwise, verify: (task, signal) => pointwise.verify(blind(task), signal) };
}

/** Without tests and scratch scripts, which repeat the issue's example. */
function changeAlone(patch: string): string {
  const parsed = readPatch(patch);
  if (parsed.kind !== 'ok') return patch;
  const files = parsed.files.filter(({ path, role, parsed: { oldFileName } }) => {
    return role === 'source' && !(oldFileName === '/dev/null' && isScratch(path));
  });
  return files.map(({ text }) => text).join('');
}

async function judge(
  options: JudgeOptions,
  rendered: RenderedAttempt,
  { signal, inTurn }: { readonly signal: AbortSignal; readonly inTurn: InTurn },
): Promise<Judged> {
  const { prompts, model, think, samples = 1 } = options;
  const { issue, issue_fence, source, source_fence, patch } = rendered;
  // Uses a separate fence: the attempt's fence is also a hash of the issue, and would distinguish equal patches of two issues.
  const told = await prompts.render(DESCRIBE, { source, source_fence, patch, fence: contentKey([patch]).slice(0, 16) });
  const question = { messages: told.messages, atLeast: DESCRIPTION_TOKENS, sample: 0 };
  const described = await inTurn(() => ask({ ...options, think: false, prefill: false }, question, signal));
  if (described.kind === 'failed') return abstained(described.reason, described.detail);
  const problem = excerpt(withoutThoughts(described.completion.text), LONGEST_DESCRIPTION);
  if (problem === '') return abstained('unreadable-answer', 'nothing was said about the patch');
  const fence = contentKey([issue, problem]).slice(0, 16);
  const asked = await prompts.render(COMPARE, { issue, issue_fence, problem: neutralise(problem), fence, think });
  const evidence = { prompt_hash: promptHash([told, asked], []), model, method: 'backward', problem };
  const questions = Array.from({ length: samples }, (_, sample) => ({
    messages: asked.messages,
    prefill: SCORE_TAG,
    sample,
  }));
  const answers = await askWarm(options, questions, signal, (first) => first());
  const failed = answers.find((each) => each.kind === 'failed');
  const shares = answers.flatMap((each) =>
    each.kind === 'answered' ? (sharesOf(options, each.completion) ?? []) : [],
  );
  if (shares.length === 0) {
    const why = failed ?? { reason: 'unreadable-answer', detail: 'no answer says same, partial or different' };
    return abstained(why.reason, why.detail, evidence);
  }
  const share = (letter: Letter): number => mean(shares.map((each) => each.get(letter) ?? 0));
  const letters = ['A', 'B', 'C'] as const;
  const [match] = letters.toSorted((a, b) => share(b) - share(a));
  const score = Math.min(
    1,
    letters.reduce((sum, letter) => sum + share(letter) * WORTH[letter], 0),
  );
  return { kind: 'scored', score, evidence: { ...evidence, match: WORDS[match ?? 'C'] } };
}

/** Probabilities of the letters; without log-probabilities, 1 for the stated letter; null when there is none. */
function sharesOf(
  options: JudgeOptions,
  completion: Parameters<typeof tokensOf>[0],
): ReadonlyMap<Letter, number> | null {
  const prefill = prefilled(options, SCORE_TAG);
  const read = readTaggedToken(tokensOf(completion, prefill), SCORE_TAG, readLetter);
  if (read.kind === 'read') return read.mass >= options.minMass ? read.share : null;
  if (completion.logprobs !== null) return null;
  const said =
    withoutThoughts(`${prefill ?? ''}${completion.text}`)
      .split(SCORE_TAG)
      .slice(1)
      .at(-1) ?? '';
  const letter = readLetter(said.trim());
  return letter === null ? null : new Map([[letter, 1]]);
}

function readLetter(text: string): Letter | null {
  const letter = /^([ABC])(?![\p{L}\p{N}_])/u.exec(text)?.[1];
  return letter === 'A' || letter === 'B' || letter === 'C' ? letter : null;
}

/** The text after the last thought; empty if a thought never ended. */
function withoutThoughts(text: string): string {
  const answer = text.slice(text.lastIndexOf('</think>') + 1).replace(/^\/think>/, '');
  return answer.includes('<think>') ? '' : answer.trim();
}
