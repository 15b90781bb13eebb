import { z } from 'zod';
import { WarmStart } from '../../../src/core/async/concurrency.js';
import { contentKey } from '../../../src/core/identifier.js';
import type { VerificationTask } from '../../../src/core/run/verifier.js';
import {
  type Asked,
  askWarm,
  type Failed,
  failedIn,
  prefilled,
  tokensOf,
  ask,
  readTaggedToken,
  jsonOf,
  unusedLogprobs,
} from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import {
  abstained,
  attemptsOf,
  doesNotFit,
  type InTurn,
  type Judged,
  mean,
  SHORTER,
  WORTH_WAITING,
} from '../pointwise/pointwise.js';
import { type Attempt, fitAttempt, piecesOf, type RenderedAttempt, excerpt } from '../render/render-attempt.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import type { Retell } from '../../../src/core/run/rollout.js';
import { ATTEMPT, renderQuestion } from '../render/question.js';

const PROMPT = 'verifier/pairwise';
const TAG = '<better>';

/** A candidate as shown to the judge that compares two. */
export interface Contestant {
  readonly id: string;
  readonly shown: RenderedAttempt;
  /** Replaces the record of its work; null when there is none or it could not be obtained; absent = not requested. */
  readonly summary?: Summary | null;
}

/**
 * The comparable candidates, ordered by content, so that neither their given order nor their names matter. All are shown the
 * same source, so that all prompts share a prefix.
 */
export async function contestants(
  options: JudgeOptions,
  task: VerificationTask,
  signal: AbortSignal,
): Promise<{ readonly able: readonly Contestant[]; readonly left: Map<string, Judged> }> {
  const attempts = [...(await attemptsOf(options, task, signal))]
    .map(([id, attempt]) => ({ id, attempt, key: `${contentKey([attempt.patch, attempt.steps])} ${id}` }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const source = commonSource(attempts.map(({ attempt }) => attempt));
  const left = new Map<string, Judged>();
  const fitted = attempts.map(async ({ id, attempt }): Promise<Contestant[]> => {
    const judged = await contestant(options, id, { ...attempt, source }, signal);
    if (!('kind' in judged)) return [judged];
    left.set(id, judged);
    return [];
  });
  return { able: (await Promise.all(fitted)).flat(), left };
}

async function contestant(
  options: JudgeOptions,
  id: string,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Contestant | Judged> {
  if (attempt.patch.trim() === '') return abstained('no-source-change', 'the patch is empty');
  const half = Math.floor(options.promptTokens / 2);
  if (!options.summaries) {
    const shown = await fitAttempt(attempt, options.tokenizer, half);
    return shown === null ? doesNotFit(attempt) : { id, shown };
  }
  const shown = await fitAttempt({ ...attempt, steps: [] }, options.tokenizer, half);
  if (shown === null) return doesNotFit(attempt);
  const summary = await summaryOf(options, attempt, signal);
  if (isFailed(summary)) return abstained(summary.reason, summary.detail);
  const steps = summary === null ? '' : summaryText(summary);
  return { id, shown: { ...shown, steps, fence: contentKey([shown.fence, steps]).slice(0, 16) }, summary };
}

/** The source around all patches, closest to the changes first. */
function commonSource(attempts: readonly Attempt[]): string {
  const pieces = attempts.map(({ source = '' }) => piecesOf(source));
  const most = Math.max(0, ...pieces.map(({ length }) => length));
  const byRank = Array.from({ length: most }, (_, rank) => pieces.flatMap((each) => each.slice(rank, rank + 1)));
  return [...new Set(byRank.flat())].join('\n\n');
}

/** Asks about pairs and keeps the prompt hash of all answers and the failures. */
export class Duel {
  /** Empty until the first question. */
  hash = '';
  /** Why log-probabilities were not used, for the evidence. */
  unused: ReturnType<typeof unusedLogprobs> = {};
  /** The failed call of each candidate that has a comparison without a readable answer because of one; outages first. */
  readonly failures = new Map<string, Failed>();
  private readonly asked = new Map<string, Promise<number | null>>();
  private readonly byId: ReadonlyMap<string, RenderedAttempt>;
  private readonly all = new WarmStart();
  private readonly byFirst = new Map<string, WarmStart>();

  constructor(
    readonly options: JudgeOptions,
    able: readonly Contestant[],
    private readonly signal: AbortSignal,
  ) {
    this.byId = new Map(able.map(({ id, shown }) => [id, shown]));
  }

  /** P(a is better) with a shown first, and with b shown first; null when either cannot be read. */
  async both(a: string, b: string): Promise<readonly [number, number] | null> {
    const [forth, back] = await Promise.all([this.first(a, b), this.first(b, a)]);
    return forth === null || back === null ? null : [forth, 1 - back];
  }

  /** Mean over both orders, which cancels a preference for the first position; null when either cannot be read. */
  async compare(a: string, b: string): Promise<number | null> {
    const both = await this.both(a, b);
    return both === null ? null : mean(both);
  }

  private first(first: string, second: string): Promise<number | null> {
    const key = JSON.stringify([first, second]);
    const known = this.asked.get(key) ?? this.ask(first, second);
    this.asked.set(key, known);
    return known;
  }

  /** P(the one shown first is better). */
  private async ask(a: string, b: string): Promise<number | null> {
    const { options } = this;
    const [first, second] = [this.byId.get(a), this.byId.get(b)];
    if (first === undefined || second === undefined) return null;
    // Those of a patch that leaves hardly any room are cut, and both orders have to ask the same question.
    const { issue, issue_fence, source, source_fence } = sharedLength(first) < sharedLength(second) ? second : first;
    const { messages, templateHash } = await options.prompts.render(PROMPT, {
      ...{ issue, issue_fence, source, source_fence },
      ...{ first: { ...first }, second: { ...second }, think: options.think, summaries: options.summaries },
    });
    this.hash = options.summaries ? contentKey([templateHash, await summaryHash(options)]) : templateHash;
    const questions = Array.from({ length: options.samples ?? 1 }, (_, sample) => ({ messages, prefill: TAG, sample }));
    const answers = await askWarm(options, questions, this.signal, this.turnOf(first));
    this.unused = { ...this.unused, ...unusedLogprobs(answers) };
    const shares = answers.flatMap((asked) => this.read(asked) ?? []);
    if (shares.length > 0) return mean(shares);
    const failed = failedIn(answers);
    if (failed !== undefined) for (const id of [a, b]) this.keep(id, failed);
    return null;
  }

  private keep(id: string, failed: Failed): void {
    const known = this.failures.get(id);
    if (known === undefined || !isOutage(known)) this.failures.set(id, failed);
  }

  /** The very first question runs alone, then the first one for each attempt shown first. */
  private turnOf(first: RenderedAttempt): InTurn {
    const { fence, steps } = first;
    if (sharedLength(first) + steps.length < WORTH_WAITING) return (ask) => ask();
    const own = this.byFirst.get(fence) ?? new WarmStart();
    this.byFirst.set(fence, own);
    return (ask) => own.turn(() => this.all.turn(ask));
  }

  private read(asked: Asked): number | null {
    const { options } = this;
    if (asked.kind === 'failed') return null;
    const { completion } = asked;
    const prefill = prefilled(options, TAG);
    const read = readTaggedToken(tokensOf(completion, prefill), TAG, readSide);
    if (read.kind === 'read') return read.mass >= options.minMass ? (read.share.get('A') ?? 0) : null;
    return completion.logprobs === null ? statedSide(`${prefill ?? ''}${completion.text}`) : null;
  }
}

function sharedLength({ issue, source }: RenderedAttempt): number {
  return issue.length + source.length;
}

/** Whether the call may succeed later; a prompt that is too long stays so, and a call that the server refuses is refused again. */
export function isOutage({ reason, refused }: Failed): boolean {
  return reason !== 'prompt-too-long' && !refused;
}

/** A or B, optionally followed by the closing tag. */
function readSide(text: string): 'A' | 'B' | null {
  const side = /^([AB])(?![\p{L}\p{N}_])/u.exec(text)?.[1];
  return side === 'A' || side === 'B' ? side : null;
}

/** 1 if the text states A, 0 for B, null otherwise. */
export function statedSide(text: string): number | null {
  const answer = text.slice(text.lastIndexOf('</think>') + 1);
  if (answer.includes('<think>')) return null;
  const [, ...said] = answer.split(TAG);
  const side = /^\s*([AB])\b/.exec(said.at(-1) ?? '')?.[1];
  return side === undefined ? null : Number(side === 'A');
}

const SUMMARY_PROMPT = 'verifier/summary';
const TOKENS = 1_024;
const LONGEST = 1_200;
const MOST_FILES = 20;

const FIELDS = ['hypotheses', 'decisions', 'progress', 'failures', 'outcome'] as const;
const Summary = z.strictObject({
  hypotheses: z.string(),
  decisions: z.string(),
  progress: z.string(),
  failures: z.string(),
  outcome: z.string(),
  files: z.array(z.string()),
});
/** An attempt in words (fields as in arXiv 2604.16529 and its implementations). */
export type Summary = z.infer<typeof Summary>;

const SCHEMA = {
  name: 'summary',
  schema: {
    type: 'object',
    properties: {
      ...Object.fromEntries(FIELDS.map((name) => [name, { type: 'string' }])),
      files: { type: 'array', items: { type: 'string' } },
    },
    required: [...FIELDS, 'files'],
    additionalProperties: false,
  },
};

/**
 * Summarises the record of an attempt in one call, each field cut to a length that fits a comparison.
 * @returns null without a record or a readable answer, or if asking again would not help: the patch is then shown without one
 */
async function summaryOf(
  options: JudgeOptions,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Summary | Failed | null> {
  if (attempt.steps.length === 0) return null;
  const asked = await askSummary(options, attempt, signal);
  if (asked?.kind !== 'answered') return asked !== null && isOutage(asked) ? asked : null;
  const { data } = Summary.safeParse(jsonOf(asked.completion.text));
  if (data === undefined) return null;
  const short = Object.fromEntries(FIELDS.map((name) => [name, excerpt(data[name], LONGEST)]));
  const files = data.files.slice(0, MOST_FILES).map((file) => excerpt(file, LONGEST / MOST_FILES));
  return { ...data, ...short, files };
}

/** Asks once more with a shorter record if the server's context is smaller than assumed; null if the patch does not fit. */
async function askSummary(options: JudgeOptions, attempt: Attempt, signal: AbortSignal): Promise<Asked | null> {
  let asked: Asked | null = null;
  for (const tokens of [options.promptTokens, Math.floor(options.promptTokens * SHORTER)]) {
    // The comparison shows the patch anyway, and a summary needs no source.
    const rendered = await fitAttempt({ ...attempt, source: '', tests: '' }, options.tokenizer, tokens);
    if (rendered === null) return asked;
    const { messages } = await renderQuestion(options, SUMMARY_PROMPT, rendered);
    const question = { messages, responseSchema: SCHEMA, atLeast: TOKENS, sample: 0 };
    asked = await ask({ ...options, think: false }, question, signal);
    if (asked.kind === 'answered' || asked.reason !== 'prompt-too-long') break;
  }
  return asked;
}

function isFailed(summary: Summary | Failed | null): summary is Failed {
  return summary !== null && 'kind' in summary;
}

/** Maximum characters of another attempt's patch shown to an agent. */
const PATCH_SHOWN = 6_000;

/**
 * Describes earlier attempts to agents that try again: a summary ('' if unavailable) and the patch, excerpted.
 * @throws the signal's reason, StoreUnavailableError
 */
export function createRetelling(options: JudgeOptions): Retell {
  return async (issue, { patch, trajectory }, signal) => {
    const summary = await summaryOf(options, { issue, steps: trajectory?.steps ?? [], patch }, signal);
    return {
      summary: summary === null || isFailed(summary) ? '' : summaryText(summary),
      patch: excerpt(neutralise(patch).trimEnd(), PATCH_SHOWN),
    };
  };
}

/** Hash of the prompts that ask for summaries. */
export async function summaryHash({ prompts }: Pick<JudgeOptions, 'prompts'>): Promise<string> {
  const hashes = await prompts.hashes();
  return contentKey([SUMMARY_PROMPT, ATTEMPT].map((name) => hashes[name]));
}

/** As shown to the judge; neutralised, since a model wrote it about untrusted data. */
export function summaryText(summary: Summary): string {
  // An empty field would be ambiguous: nothing, or not stated.
  const lines = FIELDS.map((name) => `${name}: ${summary[name].trim() === '' ? 'nothing' : summary[name]}`);
  return neutralise([...lines, `files: ${summary.files.join(', ')}`].join('\n'));
}
