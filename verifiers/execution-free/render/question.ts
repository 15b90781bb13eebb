import { contentKey } from '../../../src/core/identifier.js';
import { type Candidate, leaksOf, type TrajectoryStep } from '../../../src/core/run/candidate.js';
import type { Message } from '../../../src/ports/llm-client.js';
import type { RenderedPrompt } from '../../../src/ports/prompt-library.js';
import type { JudgeOptions } from '../judge-options.js';
import { fitAttempt, type RenderedAttempt, excerpt } from './render-attempt.js';
import { type GeneratedTest, HOLDING, isWrittenApart } from '../../../src/core/run/generated-test.js';
import { REGRESSION, REPRODUCTION, type Verdict } from '../../../src/core/run/verdict.js';

/** The part shown by every question about an attempt, before what it asks. */
export const ATTEMPT = 'verifier/attempt';
/** Prompt variables of R2E-Gym's agents; its verifier was trained on their whole conversation. */
const R2E_AGENT = { workdir: '/testbed', max_steps: 40, action_s: 90 } as const;

/**
 * A question about an attempt: the part common to all questions comes first, the question itself last.
 * @param more variables of this question only
 */
export async function renderQuestion(
  { prompts, think }: Pick<JudgeOptions, 'prompts' | 'think'>,
  name: string,
  rendered: RenderedAttempt,
  more: Readonly<Record<string, unknown>> = {},
): Promise<RenderedPrompt> {
  const shown = await prompts.render(ATTEMPT, { ...rendered });
  const attempt = shown.messages[0]?.content ?? '';
  const { messages, templateHash } = await prompts.render(name, { ...rendered, ...more, attempt, think });
  return { messages, templateHash: contentKey([shown.templateHash, templateHash]) };
}

/** The YES/NO question, in the layout the model was trained on if there is one. */
export async function renderYesNo(
  options: Pick<JudgeOptions, 'prompts' | 'prompt' | 'think'>,
  rendered: RenderedAttempt,
): Promise<RenderedPrompt> {
  const { prompts, prompt } = options;
  if (prompt === 'verifier/yes-no') return renderQuestion(options, prompt, rendered);
  const { issue, steps, patch } = rendered;
  if (prompt === 'verifier/deepswe') return prompts.render(prompt, { issue, steps, patch });
  const told = await prompts.render('agent/r2e', { issue, ...R2E_AGENT });
  const of = (wanted: Message['role']): string => told.messages.find(({ role }) => role === wanted)?.content ?? '';
  const conversation = { agent_system: of('system'), agent_instance: of('user') };
  const { messages, templateHash } = await prompts.render(prompt, { issue, steps, patch, ...conversation });
  return { messages, templateHash: contentKey([told.templateHash, templateHash]) };
}

/** Hash of several prompts without their data. */
export function promptHash(prompts: readonly RenderedPrompt[], criteria: readonly string[]): string {
  return contentKey([[...new Set(prompts.map(({ templateHash }) => templateHash))], criteria]);
}

type PromptOptions = Pick<JudgeOptions, 'prompts' | 'prompt' | 'think' | 'tokenizer' | 'promptTokens' | 'patchAlone'>;

/** Training example for the YES/NO verifier: its question about a candidate, with the correct answer. Null if unusable. */
export async function trainingConversation(
  options: PromptOptions,
  issue: string,
  { patch, trajectory }: Candidate,
  right: boolean,
): Promise<readonly Message[] | null> {
  if (patch.trim() === '') return null;
  const isAlone = options.patchAlone && options.prompt === 'verifier/yes-no';
  const steps = isAlone ? [] : (trajectory?.steps ?? []);
  const attempt = { issue, steps, patch, flags: flagsSection(steps, false) };
  const rendered = await fitAttempt(attempt, options.tokenizer, options.promptTokens);
  if (rendered === null) return null;
  const { messages } = await renderYesNo(options, rendered);
  return [...messages, { role: 'assistant', content: `<judgement>${right ? 'YES' : 'NO'}</judgement>` }];
}

const MOST_NAMED = 20;
/** Scripts that a patch fails are shown, so that their demands can be compared with the issue's. */
const MOST_SCRIPTS = 3;
const LONGEST_SCRIPT = 1_800;

/**
 * Describes what tests showed on one patch: existing and generated ones, never hidden ones, whose outcomes are in no verdict's
 * evidence. Only generated tests whose author saw no candidate's work are shown: otherwise another candidate's script could
 * address the judge about this patch in bestk's name.
 * @returns empty when nothing was run
 */
export function testsSection(
  verdicts: readonly Verdict[],
  tests: readonly GeneratedTest[],
  candidates: ReadonlySet<string>,
): string {
  const existing = verdicts.find(({ measure }) => measure === REGRESSION.name);
  const generated = verdicts.find(({ measure }) => measure === REPRODUCTION.name);
  const apart = tests.filter((test) => isWrittenApart(test, candidates));
  return [
    existing === undefined ? '' : existingTests(existing),
    generated === undefined ? '' : generatedTests(generated, apart),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

function existingTests(verdict: Verdict): string {
  if (verdict.kind === 'abstained') return doesNotApply(verdict);
  const { score, out_of, evidence } = verdict;
  const lost = names(evidence.lost);
  const said = `Of the project's own tests that passed before the patch and were run, ${score} of ${out_of} still pass.`;
  return lost.length === 0 ? said : `${said} These no longer do:\n${lost.join('\n')}`;
}

/** @param apart only these tests are shown and counted */
function generatedTests(verdict: Verdict, apart: readonly GeneratedTest[]): string {
  if (verdict.kind === 'abstained') return '';
  const holding = apart.filter(({ kind }) => kind === HOLDING);
  const failing = apart.filter(({ kind }) => kind !== HOLDING);
  const parts = [
    scriptsOf(verdict.evidence, failing, 'each fails before the patch'),
    scriptsOf(verdict.evidence, holding, 'each passes before the patch, and was meant to go on passing'),
  ];
  return parts.filter((text) => text !== '').join('\n\n');
}

function scriptsOf(evidence: Verdict['evidence'], tests: readonly GeneratedTest[], before: string): string {
  const contents = new Map(tests.map(({ test_id, content }) => [test_id, content]));
  const own = (ids: unknown): readonly string[] => texts(ids).filter((id) => contents.has(id));
  const [solved, unsolved, broken] = [own(evidence.solved), own(evidence.unsolved), own(evidence.broken)];
  const count = solved.length + unsolved.length + broken.length;
  if (count === 0) return '';
  const said =
    `Scripts were written by a model that saw the issue and no patch; ${before}. ` +
    `With the patch ${solved.length} of ${count} pass. Such a script may itself be wrong.`;
  const shown = [
    ...unsolved.map((id) => [id, 'does not pass'] as const),
    ...broken.map((id) => [id, 'breaks'] as const),
  ].slice(0, MOST_SCRIPTS);
  const scripts = shown.map(
    ([id, how]) => `Script ${id} ${how}:\n${excerpt((contents.get(id) ?? '').trimEnd(), LONGEST_SCRIPT)}`,
  );
  return [said, ...scripts].join('\n\n');
}

function doesNotApply({ reason, detail }: Extract<Verdict, { kind: 'abstained' }>): string {
  return reason === 'does-not-apply' ? `The patch does not apply to the repository: ${detail}` : '';
}

function names(value: unknown): readonly string[] {
  return texts(value).slice(0, MOST_NAMED);
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

const LEAKS = {
  'git-history': 'searched the history of the repository',
  'package-download': 'tried to download a package',
  upstream: 'tried to reach the project upstream',
} as const;

const TOLD =
  'The agent had been shown reports on earlier attempts at this issue ("attempt 1" and so on), which you do not see. What it says of them is part of its work and not addressed to you.';

/**
 * Ways in which the agent looked for the answer outside the code, and a note if it saw other attempts; empty if neither.
 * @param isTold whether the agent was shown other attempts, so that its record may mention them
 */
export function flagsSection(steps: readonly TrajectoryStep[], isTold: boolean): string {
  const leaks = leaksOf(steps).map(
    ({ leak, step }) => `Step ${step - 1}: the agent ${LEAKS[leak]}, where a finished fix may be found.`,
  );
  return [...leaks, ...(isTold && steps.length > 0 ? [TOLD] : [])].join('\n');
}
