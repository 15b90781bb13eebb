import { UnavailableError } from '../../../src/core/errors/errors.js';
import { BudgetSpentError, isStoreOutage } from '../../../src/core/errors/unavailable.js';
import { eachEnd, type Range, rangeOf } from '../../../src/core/budget/budget.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import {
  type GeneratedTest,
  HOLDING,
  MENDED,
  type RefusedTest,
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
import { fitting } from '../../source/read-sources.js';
import {
  chosenFiles,
  fenceOf,
  issueText,
  languageOfPatches,
  LONGEST_PATCH,
  LONGEST_SCRIPTS,
  sourceAroundAll,
  type WritersLanguage,
} from './chosen-files.js';
import { excludedTests } from './excluded-tests.js';
import { testsThatObserve } from './observations.js';
import { asTests, isPlaced, testsIn } from './written-tests.js';

/**
 * What each of several samples is asked to focus on, in this order, repeated as needed; texts in
 * prompts/test-writer/angle. A single sample covers everything.
 */
const ANGLES = ['example', 'careless', 'edges', 'beside'] as const;
const EVERYTHING = 'all';
/** Angle of authors whose tests pass on base. */
const WORKS = 'works';

/** The request for one answer. */
interface Ask {
  readonly author: string;
  /** Distinguishes equal prompts. */
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

/** One prompt, several samples (Agentless, R2E-Gym), each with an angle; CodeMonkeys' protocol of exit codes. */
export function createTestWriter(options: TestWriterOptions): TestWriter {
  const known = new WeakMap<Issue, Promise<ShownTo>>();
  const shownOnce = (issue: Issue, signal: AbortSignal): Promise<ShownTo> => {
    const shown = known.get(issue) ?? shownTo(options, issue, signal);
    known.set(issue, shown);
    shown.catch(() => known.delete(issue));
    return shown;
  };
  const { rounds = 0 } = options;
  return {
    write: async (issue, signal) => {
      const { language, ...shown } = await shownOnce(issue, signal);
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
    exclude: (issue, tests, signal) => {
      const ask = async (messages: readonly Message[]) => (await answerOf(options, messages, 0, signal)).text ?? '';
      return excludedTests({ ...options, ask }, issue, tests, signal);
    },
    mend: async (issue, refused, signal) =>
      mendedTests(options, issue, { refused, shown: await shownOnce(issue, signal) }, signal),
    ...(rounds === 0
      ? {}
      : {
          observe: async (issue, before, signal) => {
            if (before.round >= rounds) return [];
            const ask = (messages: readonly Message[]) => furtherText(options, messages, before.round, signal);
            const around = (patches: readonly string[]) => sourceAroundAll(options.sandbox, issue, patches, signal);
            return testsThatObserve({ ...options, ask, around }, issue, before, await shownOnce(issue, signal));
          },
        }),
    separate: (issue, tied, signal) => separatingTests(options, issue, tied, signal),
  };
}

/** Data for the prompts of all languages. */
interface Shown {
  readonly issue: string;
  readonly files: string;
  readonly fence: string;
  readonly regression_command: string;
  /** Time limit per test, as enforced. */
  readonly seconds: number;
  readonly root: string;
  readonly example: string;
  readonly kind: TestKind;
  readonly angle: string;
}

interface ShownTo extends Omit<Shown, 'angle' | 'kind'> {
  readonly language: WritersLanguage;
}

/** Data for the language that most of the repository is written in. */
async function shownTo(options: TestWriterOptions, issue: Issue, signal: AbortSignal): Promise<ShownTo> {
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

const COUNT = 4;

/** Only the rules, without an issue. */
async function rulesOf(
  options: TestWriterOptions,
  language: WritersLanguage,
  seconds: number,
): Promise<readonly Message[]> {
  const nothing = { issue: '', files: '', fence: '', regression_command: '', root: '', example: '', angle: '' };
  const messages = await promptOf(options, language, { ...nothing, kind: FAILING, seconds });
  return messages.filter(({ role }) => role === 'system');
}

const LAST_PRINTED = 1_000;

/** Replacements for refused tests, by an author who sees the reasons. None if the model has no idea, or no budget. */
async function mendedTests(
  options: TestWriterOptions,
  issue: Issue,
  { refused, shown }: { readonly refused: readonly RefusedTest[]; readonly shown: ShownTo },
  signal: AbortSignal,
): Promise<readonly GeneratedTest[]> {
  const texts = refused.map(({ test, reason, log }) =>
    [`--- ${test.path}: it ${reason}`, test.content.trimEnd(), `--- printed`, log.slice(-LAST_PRINTED).trimEnd()].join(
      '\n',
    ),
  );
  const data = { ...shown, refused: neutralise(fitting(texts, LONGEST_SCRIPTS, ({ length }) => length).join('\n\n')) };
  const { messages } = await options.prompts.render('test-writer/mend', {
    ...data,
    fence: fenceOf(data),
    count: Math.min(refused.length, options.count),
    placed: isPlaced(shown.language),
  });
  const rules = await rulesOf(options, shown.language, shown.seconds);
  const asked = { issue, author: MENDED, language: shown.language };
  return (await furtherTests(options, [...rules, ...messages], asked, signal)).tests;
}

/**
 * Tests on which two patches differ that earlier tests do not decide between (S*, arXiv 2502.14382: inputs that tell
 * the leaders apart). The author sees both patches. None if the model has no idea, or no budget.
 * @throws the model's failure, what the sandbox throws, and the signal's reason
 */
async function separatingTests(
  options: TestWriterOptions,
  issue: Issue,
  { patches, earlier }: TiedPatches,
  signal: AbortSignal,
): Promise<Separation> {
  const [a = '', b = ''] = patches.map((patch) => neutralise(patch.slice(0, LONGEST_PATCH)).trim());
  const source = await sourceAroundAll(options.sandbox, issue, patches, signal);
  const data = { issue: issueText(issue), a, b, source: neutralise(source), scripts: neutralise(scriptsOf(earlier)) };
  const language = languageOfPatches(patches);
  const rules = await rulesOf(options, language, issue.environment.test_timeout_s);
  const { messages } = await options.prompts.render('test-writer/separate', {
    ...data,
    fence: fenceOf(data),
    count: COUNT,
    language,
    placed: isPlaced(language),
  });
  const { tests, text } = await furtherTests(
    options,
    [...rules, ...messages],
    { issue, author: SEPARATING, language },
    signal,
  );
  return { tests, equivalent: tests.length === 0 && text.trimEnd().split('\n').at(-1)?.trim() === EQUIVALENT };
}

interface Further {
  readonly issue: Issue;
  readonly author: string;
  readonly language: WritersLanguage;
}

/** One more answer; empty if there is no budget for it. @throws the model's failure */
async function furtherText(
  options: TestWriterOptions,
  messages: readonly Message[],
  sample: number,
  signal: AbortSignal,
): Promise<string> {
  const { text, error } = await answerOf(options, messages, sample, signal);
  if (error !== null && !(error instanceof BudgetSpentError)) throw error;
  return text ?? '';
}

/** The tests in one more answer. @throws the model's failure */
async function furtherTests(
  options: TestWriterOptions,
  messages: readonly Message[],
  { issue, author, language }: Further,
  signal: AbortSignal,
): Promise<{ readonly tests: readonly GeneratedTest[]; readonly text: string }> {
  const text = await furtherText(options, messages, 0, signal);
  return { tests: asTests(issue.instance_id, new Map([[author, { text }]]), language), text };
}

const EQUIVALENT = 'EQUIVALENT';

/** Tests with different results on the two come first. */
function scriptsOf(earlier: TiedPatches['earlier']): string {
  const scripts = earlier
    .filter(({ test }) => !isHarvested(test))
    .toSorted((x, y) => Number(y.said[0] !== y.said[1]) - Number(x.said[0] !== x.said[1]))
    .map(({ test, said: [a, b] }) => `--- ${test.path} (A: ${a}, B: ${b})\n${test.content.trimEnd()}`);
  return fitting(scripts, LONGEST_SCRIPTS, ({ length }) => length).join('\n\n');
}

export interface TestWriterOptions {
  readonly llm: LlmClient;
  readonly prompts: PromptLibrary;
  readonly sandbox: Sandbox;
  readonly model: string;
  /** Independent answers. */
  readonly samples: number;
  /** Scripts requested in each. */
  readonly count: number;
  /** Further answers, with tests that pass on base. */
  readonly holding: number;
  /** Maximum of rounds of observing tests; absent = none. */
  readonly rounds?: number;
}

const ANSWER_TOKENS = 8_192;
/** Tokens of the longest prompt: two patches with the issue, scripts and source around both. */
const PROMPT_TOKENS = 80_000;
/** Calls per verification: tests to exclude, replacements for refused ones, and tests to separate tied leaders. */
const FURTHER = { likely: 2, most: 3 } as const;
/** Likely rounds of observing tests, if that many are allowed: the second often splits nothing. */
const LIKELY_ROUNDS = 2;

/** Calls for writing tests, and further ones at each verification. @param look of an agent that writes them */
export function testCalls(
  asked: {
    readonly author: 'single' | 'agent';
    readonly samples: number;
    readonly holding: number;
    readonly rounds: number;
  },
  { calls, context, answer }: { readonly calls: Range; readonly context: number; readonly answer: number },
): { readonly writing: JudgeCalls; readonly further: JudgeCalls } {
  const single = {
    calls: rangeOf(asked.samples + asked.holding),
    prompt: rangeOf(0, PROMPT_TOKENS / 8, PROMPT_TOKENS),
    answer: rangeOf(0, ANSWER_TOKENS / 4, ANSWER_TOKENS),
  };
  const room = context - answer;
  const agent = {
    calls: eachEnd((each) => each * asked.samples, calls),
    prompt: rangeOf(0, Math.min(room, PROMPT_TOKENS / 8), room),
    answer: rangeOf(0, Math.min(answer, 320), answer),
  };
  const { rounds } = asked;
  const further = rangeOf(0, FURTHER.likely + Math.min(rounds, LIKELY_ROUNDS), FURTHER.most + rounds);
  return { writing: asked.author === 'agent' ? agent : single, further: { ...single, calls: further } };
}

/** One answer; a model failure is returned, not thrown, since other samples may suffice. */
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
    if (!(error instanceof UnavailableError) || isStoreOutage(error)) throw error;
    return { text: null, error };
  }
}
