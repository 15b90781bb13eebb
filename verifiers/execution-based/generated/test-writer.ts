import { retried } from '../../../src/core/async/time.js';
import { UnavailableError } from '../../../src/core/errors/errors.js';
import { BudgetSpentError } from '../../../src/core/errors/unavailable.js';
import { contentKey } from '../../../src/core/identifier.js';
import { type Range, rangeOf } from '../../../src/core/budget/budget.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import { readPatch } from '../../../src/core/patch/patch.js';
import {
  type GeneratedTest,
  HOLDING,
  type Separation,
  SEPARATING,
  type TestWriter,
  type TiedPatches,
  isHarvested,
} from '../../../src/core/run/generated-test.js';
import type { JudgeCalls } from '../../../src/core/run/verifier.js';
import type { Issue } from '../../../src/core/run/issue.js';
import type { LlmClient, Message } from '../../../src/ports/llm-client.js';
import type { PromptLibrary } from '../../../src/ports/prompt-library.js';
import type { Sandbox } from '../../../src/ports/sandbox.js';
import { BaseRepository } from '../../source/base-repository.js';
import { fitting, sourceAround } from '../../source/read-sources.js';
import { chosenFiles, languageOf, type WritersLanguage } from './chosen-files.js';
import { shownTests } from './excluded-tests.js';
import { asTests, isPlaced, testsIn } from './written-tests.js';

/**
 * What each of several samples is asked to look at above all, in this order and then again from the first; words in
 * prompts/test-writer/angle. A sample that is alone looks at everything.
 */
const ANGLES = ['example', 'careless', 'edges', 'beside'] as const;
const EVERYTHING = 'all';
/** What an author looks at whose tests hold on base. */
const WORKS = 'works';

/** What one answer is asked for. */
interface Ask {
  readonly author: string;
  /** Tells equal prompts apart. */
  readonly sample: number;
  readonly angle: string;
  readonly kind: TestKind;
}

type TestKind = NonNullable<GeneratedTest['kind']>;
const FAILING: TestKind = 'fail-to-pass';

function asksOf({ samples, holding }: TestWriterOptions): readonly Ask[] {
  const failing = Array.from({ length: samples }, (_, sample): Ask => {
    const angle = samples === 1 ? EVERYTHING : (ANGLES[sample % ANGLES.length] ?? EVERYTHING);
    return { author: `t${sample + 1}`, sample, angle, kind: FAILING };
  });
  const held = Array.from({ length: holding }, (_, sample): Ask => {
    return { author: `h${sample + 1}`, sample, angle: WORKS, kind: HOLDING };
  });
  return [...failing, ...held];
}

/** One prompt, several samples (Agentless, R2E-Gym), each with an angle of its own; CodeMonkeys' protocol of exit codes. */
export function createTestWriter(options: TestWriterOptions): TestWriter {
  return {
    write: async (issue, signal) => {
      const { language, ...shown } = await shownTo(options, issue, signal);
      const settled = await Promise.all(
        asksOf(options).map(async ({ author, sample, angle, kind }) => {
          const asked = { ...shown, kind, angle: await angleText(options, angle) };
          const messages = await promptOf(options, language, asked);
          return { author, angle, kind, ...(await answerOf(options, messages, sample, signal)) };
        }),
      );
      const answers = new Map(
        settled.flatMap(({ author, text, ...asked }) => (text === null ? [] : [[author, { text, ...asked }]])),
      );
      const failure = settled.find(({ error }) => error !== null && !(error instanceof BudgetSpentError))?.error;
      if (answers.size === 0 && failure != null) throw failure;
      const unreadable = [...answers.values()].filter(({ text }) => testsIn(text, language).length === 0).length;
      return { tests: asTests(issue.instance_id, answers, language), unreadable };
    },
    exclude: (issue, tests, signal) => excludedTests(options, issue, tests, signal),
    separate: (issue, tied, signal) => separatingTests(options, issue, tied, signal),
  };
}

/** What the prompts of all languages are given. */
interface Shown {
  readonly issue: string;
  readonly files: string;
  readonly fence: string;
  readonly regression_command: string;
  /** Of each test, as they are enforced. */
  readonly seconds: number;
  readonly root: string;
  readonly example: string;
  readonly kind: TestKind;
  readonly angle: string;
}

/** In the language that most of the repository is written in. */
async function shownTo(
  options: TestWriterOptions,
  issue: Issue,
  signal: AbortSignal,
): Promise<Omit<Shown, 'angle' | 'kind'> & { readonly language: WritersLanguage }> {
  const { files, language, root, example } = await chosenFiles(options.sandbox, issue, signal);
  const data = {
    issue: issueText(issue),
    files: neutralise(files.map(asFile).join('\n\n')),
    root: neutralise(root.join('\n')),
    example: example === null ? '' : neutralise(asFile(example)),
  };
  const { regression_command, test_timeout_s: seconds } = issue.environment;
  return { ...data, language, fence: fenceOf(data), regression_command: regression_command ?? '', seconds };
}

function asFile({ path, text }: { readonly path: string; readonly text: string }): string {
  return `--- ${path}\n${text.trimEnd()}`;
}

function issueText({ problem_statement }: Issue): string {
  return neutralise(problem_statement.slice(0, LONGEST_ISSUE)).trim();
}

/** Nothing that is put between marks can hold them. */
function fenceOf(data: unknown): string {
  return contentKey(data).slice(0, 16);
}

async function promptOf(
  { prompts, count }: TestWriterOptions,
  language: WritersLanguage,
  shown: Shown,
): Promise<readonly Message[]> {
  const name = isPlaced(language) ? 'command' : language;
  const { messages } = await prompts.render(`test-writer/${name}`, { ...shown, count, language });
  return messages;
}

async function angleText({ prompts }: TestWriterOptions, angle: string): Promise<string> {
  const { messages } = await prompts.render('test-writer/angle', { angle });
  return messages.map(({ content }) => content).join('\n');
}

const LONGEST_PATCH = 30_000;
const LONGEST_SCRIPTS = 20_000;
const COUNT = 4;

/**
 * Tests on which two patches differ that the tests so far do not decide between (S*, arXiv 2502.14382: inputs that tell the
 * leaders apart). Here the author sees the two, and only here. None when the model has no idea, or no budget.
 * @throws the model's failure, what the sandbox throws, and the signal's reason
 */
async function separatingTests(
  options: TestWriterOptions,
  issue: Issue,
  { patches, earlier }: TiedPatches,
  signal: AbortSignal,
): Promise<Separation> {
  const [a = '', b = ''] = patches.map((patch) => neutralise(patch.slice(0, LONGEST_PATCH)).trim());
  const source = await retried(() => sourceOfBoth(options, issue, patches, signal), { signal });
  const data = { issue: issueText(issue), a, b, source: neutralise(source), scripts: neutralise(scriptsOf(earlier)) };
  const language = languageOfPatches(patches);
  const seconds = issue.environment.test_timeout_s;
  const nothing = { issue: '', files: '', fence: '', regression_command: '', root: '', example: '', angle: '' };

  const all = await promptOf(options, language, { ...nothing, kind: FAILING, seconds });
  const rules = all.filter(({ role }) => role === 'system');
  const { messages } = await options.prompts.render('test-writer/separate', {
    ...data,
    fence: fenceOf(data),
    count: COUNT,
    language,
    placed: isPlaced(language),
  });
  const { text, error } = await answerOf(options, [...rules, ...messages], 0, signal);
  if (error !== null && !(error instanceof BudgetSpentError)) throw error;
  const tests = asTests(issue.instance_id, new Map([[SEPARATING, { text: text ?? '' }]]), language);
  return { tests, equivalent: tests.length === 0 && (text ?? '').trimEnd().split('\n').at(-1)?.trim() === EQUIVALENT };
}

const EQUIVALENT = 'EQUIVALENT';

function languageOfPatches(patches: readonly string[]): WritersLanguage {
  const files = patches.flatMap((patch) => {
    const parsed = readPatch(patch);
    return parsed.kind === 'ok' ? parsed.files.filter(({ role }) => role === 'source') : [];
  });
  return languageOf(files.map(({ path }) => [path.slice(path.lastIndexOf('.') + 1), 1] as const));
}

/** What stands around either change at base, each piece once. */
async function sourceOfBoth(
  { sandbox }: TestWriterOptions,
  issue: Issue,
  patches: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  await using base = await BaseRepository.open(sandbox, issue, 'test writer', signal);
  const pieces: string[] = [];
  for (const patch of patches) pieces.push(...(await sourceAround(base, patch, signal)).split(/\n\n(?=--- )/));
  return [...new Set(pieces)].join('\n\n');
}

/** Those first that say different things of the two. */
function scriptsOf(earlier: TiedPatches['earlier']): string {
  const scripts = earlier
    .filter(({ test }) => !isHarvested(test))
    .toSorted((x, y) => Number(y.said[0] !== y.said[1]) - Number(x.said[0] !== x.said[1]))
    .map(({ test, said: [a, b] }) => `--- ${test.path} (A: ${a}, B: ${b})\n${test.content.trimEnd()}`);
  return fitting(scripts, LONGEST_SCRIPTS, ({ length }) => length).join('\n\n');
}

/** A model that would leave out more has not understood the question. */
const MOST_SHARE = 0.2;

/**
 * Existing tests that a right solution has to break, by a model that sees the issue and their bodies (Agentless, arXiv
 * 2407.01489, section 3.3, shows names). None when it does not answer, names too many, or names what is not there.
 * @throws what the sandbox throws
 */
async function excludedTests(
  options: TestWriterOptions,
  issue: Issue,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const shown = await retried(() => shownTests(options.sandbox, issue, tests, signal), { signal });
  const known = new Map(shown.flatMap(({ names }) => [...names]));
  const texts = shown.map(({ names, body }) => [...[...names.keys()].map((name) => `--- ${name}`), body].join('\n'));
  const data = { issue: issueText(issue), tests: neutralise(texts.map((text) => text.trimEnd()).join('\n\n')) };
  const { messages } = await options.prompts.render('test-writer/exclude', { ...data, fence: fenceOf(data) });
  const { text } = await answerOf(options, messages, 0, signal);
  const named = (text ?? '').split('\n').flatMap((line) => known.get(line.trim().replace(/^--- /, '')) ?? []);
  const gone = new Set(named);
  return gone.size <= tests.length * MOST_SHARE ? tests.filter((test) => gone.has(test)) : [];
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
  /** Further answers, with tests that hold on base. */
  readonly holding: number;
}

const ANSWER_TOKENS = 8_192;
/** Tokens of the longest prompt: two patches with the issue, scripts and source around both. */
const PROMPT_TOKENS = 80_000;
/** At each verification: which existing tests to leave out, and, where leaders are tied, tests that separate them. */
const FURTHER = rangeOf(0, 1, 2);

/** What writing tests, and what is asked of their writer at each verification, comes to. @param look of an agent that writes them */
export function testCalls(
  asked: { readonly author: 'single' | 'agent'; readonly samples: number; readonly holding: number },
  { calls, context, answer }: { readonly calls: Range; readonly context: number; readonly answer: number },
): { readonly writing: JudgeCalls; readonly further: JudgeCalls } {
  const single = {
    calls: rangeOf(asked.samples + asked.holding),
    prompt: rangeOf(0, PROMPT_TOKENS / 8, PROMPT_TOKENS),
    answer: rangeOf(0, ANSWER_TOKENS / 4, ANSWER_TOKENS),
  };
  const room = context - answer;
  const agent = {
    calls,
    prompt: rangeOf(0, Math.min(room, PROMPT_TOKENS / 8), room),
    answer: rangeOf(0, Math.min(answer, 320), answer),
  };
  return { writing: asked.author === 'agent' ? agent : single, further: { ...single, calls: FURTHER } };
}

/** Characters of an issue that are shown. */
const LONGEST_ISSUE = 40_000;

/** One answer; a failure of the model is told apart, so that other samples may do. */
async function answerOf(
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
