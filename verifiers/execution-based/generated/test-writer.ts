import { UnavailableError } from '../../../src/core/errors/errors.js';
import { BudgetSpentError } from '../../../src/core/errors/unavailable.js';
import { contentKey } from '../../../src/core/identifier.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import { type GeneratedTest, type TestWriter, SEPARATING } from '../../../src/core/run/generated-test.js';
import type { Issue } from '../../../src/core/run/issue.js';
import type { LlmClient, Message } from '../../../src/ports/llm-client.js';
import type { PromptLibrary } from '../../../src/ports/prompt-library.js';
import type { Sandbox } from '../../../src/ports/sandbox.js';
import type { TestLanguage } from '../drivers/test-dialect.js';
import { chosenFiles } from './chosen-files.js';
import { asTests, codeBlocks } from './written-tests.js';

/** One prompt, several samples (Agentless, R2E-Gym); CodeMonkeys' protocol of exit codes. */
export function createTestWriter(options: TestWriterOptions): TestWriter {
  return {
    write: async (issue, signal) => {
      const { messages, language } = await promptOf(options, issue, signal);
      const samples = Array.from({ length: options.samples }, (_, sample) =>
        answerOf(options, messages, sample, signal),
      );
      const settled = await Promise.all(samples);
      const answers = new Map<string, string>();
      for (const [sample, { text }] of settled.entries()) if (text !== null) answers.set(`t${sample + 1}`, text);
      const failure = settled.find(({ error }) => error !== null && !(error instanceof BudgetSpentError))?.error;
      if (answers.size === 0 && failure != null) throw failure;
      const unreadable = [...answers.values()].filter((text) => codeBlocks(text, language).length === 0).length;
      return { tests: asTests(issue.instance_id, answers, language), unreadable };
    },
    exclude: (issue, tests, signal) => excludedTests(options, issue, tests, signal),
    separate: (issue, patches, signal) => separatingTests(options, issue, patches, signal),
  };
}

/** In the language that most of the repository is written in. */
async function promptOf(
  options: TestWriterOptions,
  issue: Issue,
  signal: AbortSignal,
): Promise<{ readonly messages: readonly Message[]; readonly language: TestLanguage }> {
  const { files, language } = await chosenFiles(options.sandbox, issue, signal);
  const source = files.map(({ path, text }) => `--- ${path}\n${text.trimEnd()}`).join('\n\n');
  const data = { issue: neutralise(issue.problem_statement.slice(0, LONGEST_ISSUE)).trim(), files: neutralise(source) };
  const { messages } = await options.prompts.render(`test-writer/${language}`, {
    ...data,
    fence: contentKey(data).slice(0, 16),
    count: options.count,
    regression_command: issue.environment.regression_command ?? '',
  });
  return { messages, language };
}

const LONGEST_PATCH = 30_000;
const COUNT = 4;
const JAVASCRIPT = /^\+\+\+ .*\.(?:[cm]?[jt]s|[jt]sx)$/m;

/**
 * Tests on which two patches differ that all tests so far say the same of (S*, arXiv 2502.14382: inputs that tell the
 * leaders apart). Here the author sees the two, and only here. None when the model has no idea, or no budget.
 * @throws the model's failure, and the signal's reason
 */
export async function separatingTests(
  options: TestWriterOptions,
  issue: Issue,
  patches: readonly [string, string],
  signal: AbortSignal,
): Promise<readonly GeneratedTest[]> {
  const [a, b] = patches.map((patch) => neutralise(patch.slice(0, LONGEST_PATCH)).trim());
  const data = { issue: neutralise(issue.problem_statement.slice(0, LONGEST_ISSUE)).trim(), a: a ?? '', b: b ?? '' };
  const language = JAVASCRIPT.test(patches.join('\n')) ? 'javascript' : 'python';
  const system = await options.prompts.render(`test-writer/${language}`, {
    issue: '',
    files: '',
    fence: '',
    count: 0,
    regression_command: '',
  });
  const rules = system.messages.filter(({ role }) => role === 'system');
  const fence = contentKey(data).slice(0, 16);
  const { messages } = await options.prompts.render('test-writer/separate', { ...data, fence, count: COUNT, language });
  const { text, error } = await answerOf(options, [...rules, ...messages], 0, signal);
  if (error !== null && !(error instanceof BudgetSpentError)) throw error;
  return asTests(issue.instance_id, new Map([[SEPARATING, text ?? '']]), language);
}

const MOST_SHOWN = 500;
/** A model that would leave out more has not understood the question. */
const MOST_SHARE = 0.2;

/**
 * Existing tests that a right solution has to break, by a model that sees the issue and their names (Agentless, arXiv
 * 2407.01489, section 3.3). None when it does not answer, names too many, or names what is not there.
 */
export async function excludedTests(
  options: TestWriterOptions,
  issue: Issue,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const shown = tests.slice(0, MOST_SHOWN);
  const data = {
    issue: neutralise(issue.problem_statement.slice(0, LONGEST_ISSUE)).trim(),
    tests: neutralise(shown.join('\n')),
  };
  const { messages } = await options.prompts.render('test-writer/exclude', {
    ...data,
    fence: contentKey(data).slice(0, 16),
  });
  const { text } = await answerOf(options, messages, 0, signal);
  const named = new Set((text ?? '').split('\n').map((line) => line.trim()));
  const excluded = shown.filter((test) => named.has(test));
  return excluded.length <= tests.length * MOST_SHARE ? excluded : [];
}

export interface TestWriterOptions {
  readonly llm: LlmClient;
  readonly prompts: PromptLibrary;
  readonly sandbox: Sandbox;
  readonly model: string;
  /** Independent answers. */
  readonly samples: number;
  /** Scripts asked for in each. */
  readonly count: number;
}

const ANSWER_TOKENS = 8_192;

/** Characters of an issue that are shown. */
export const LONGEST_ISSUE = 40_000;

/** One answer; a failure of the model is told apart, so that other samples may do. */
export async function answerOf(
  { llm, model }: TestWriterOptions,
  messages: readonly Message[],
  sample: number,
  signal: AbortSignal,
): Promise<{ text: string | null; error: UnavailableError | null }> {
  try {
    const request = { model, messages, temperature: 1, maxTokens: ANSWER_TOKENS, sample, purpose: 'test-writer' };
    return { text: (await llm.complete(request, signal)).text, error: null };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return { text: null, error };
  }
}
