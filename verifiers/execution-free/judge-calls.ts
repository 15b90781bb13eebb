import { eachEnd, type Range, rangeOf, sumOf } from '../../src/core/budget/budget.js';
import type { JudgeCalls, JudgedPool, JudgeMethod } from '../../src/core/run/verifier.js';
import { LOOKS } from './agent/agent.js';
import { THINKING_TOKENS } from './ask.js';
import { PROBES } from './critic/critic.js';
import type { JudgeOptions } from './judge-options.js';
import { FINALISTS, PIVOTS } from './pairs/pairwise.js';
import { VOTES } from './pointwise/yes-no.js';

/** The options of a judge that determine how often it asks. */
export interface CountedJudge extends Pick<
  JudgeOptions,
  'samples' | 'think' | 'answerTokens' | 'promptTokens' | 'secondOpinion' | 'summaries' | 'patchAlone' | 'prompt'
> {
  /** Number of rubric criteria: in all, and those that need only the patch. */
  readonly criteria: Readonly<Record<'all' | 'ofPatch', number>>;
  /** One look by a judge with tools. */
  readonly look: LookCalls;
}

export interface LookCalls {
  readonly calls: Range;
  /** Tokens of one call, `answer` of them for its answer. */
  readonly context: number;
  readonly answer: number;
}

/** Tokens of a summary, a description, or reasons. */
const WORDS = 1_024;
/** Tokens of a record of 27 steps that grow by 730 each (docs/sampling.md), and of an issue with a patch. */
const RECORD = 22_000;
const PATCH = 3_000;

/** Calls for judging a pool: the minimum assumes no server failure, the maximum that every question needs its last resort. */
export function judgeCalls(method: JudgeMethod, judge: CountedJudge, pool: JudgedPool): JudgeCalls {
  const { promptTokens, look } = judge;
  if (method === 'agent') {
    const most = look.context - look.answer;
    return {
      calls: product(pool.distinct, looksAt(judge), look.calls),
      prompt: rangeOf(0, Math.min(most, RECORD / 2), most),
      answer: rangeOf(0, Math.min(look.answer, WORDS / 4), look.answer),
    };
  }
  const trained = method === 'yes-no' && judge.prompt !== 'verifier/yes-no';
  const options = trained ? { ...judge, think: false, patchAlone: false } : judge;
  const known = { ...pool, records: pool.records && !options.patchAlone };
  const shown = known.records && method !== 'backward' ? RECORD : PATCH;
  const both = method === 'pairs' || method === 'pairwise' ? 2 : 1;
  return {
    calls: COUNTS[method](options, known),
    prompt: rangeOf(0, Math.min(promptTokens, both * shown), promptTokens),
    answer: method === 'critic' ? rangeOf(0, 0, 1) : answerOf(options),
  };
}

type Count = (judge: CountedJudge, pool: JudgedPool) => Range;

const COUNTS: Readonly<Record<Exclude<JudgeMethod, 'agent'>, Count>> = {
  'yes-no': (judge, pool) => {
    const { samples } = judge;
    const asked = rangeOf(samples ?? 1, samples ?? 1, (samples ?? VOTES) + GRADE);
    return product(pool.patches, asked, opinions(judge, pool), again(judge));
  },
  rubric: (judge, pool) => {
    const { criteria, samples = 1 } = judge;
    const least = Math.max(1, criteria.ofPatch * samples);
    const likely = Math.max(1, (pool.records ? criteria.all : criteria.ofPatch) * samples);
    const asked = rangeOf(least, likely, criteria.all * samples + GRADE);
    return product(pool.patches, asked, opinions(judge, pool), again(judge));
  },
  // No question is asked about a patch without source changes.
  backward: (judge, pool) => {
    const { samples = 1 } = judge;
    return product(pool.patches, rangeOf(0, 1 + samples, 1 + samples), again(judge));
  },
  critic: (_judge, { patches }) => sumOf([patches, rangeOf(0, 1, PROBES.length)]),
  pairwise: (judge, pool) => compared(judge, pool, ends(pool.patches, tournament)),
  pairs: (judge, pool) => compared(judge, pool, ends(pool.distinct, everyPair)),
};

/** The last resort if neither a verdict nor a letter can be read. */
const GRADE = 1;

/** A model whose first answer ends within its thoughts is asked again with room for them. */
function again({ think, answerTokens }: CountedJudge): Range {
  return rangeOf(1, 1, think || answerTokens >= THINKING_TOKENS ? 1 : 2);
}

/** One call that summarises an attempt. */
export function summaryCalls(judge: CountedJudge): JudgeCalls {
  const options = { ...judge, think: false, answerTokens: Math.max(judge.answerTokens, WORDS) };
  const { promptTokens: most } = judge;
  return {
    calls: again(options),
    prompt: rangeOf(0, Math.min(most, RECORD), most),
    answer: answerOf(options),
  };
}

/** One judgement of a running rollout. */
export function progressCalls(judge: CountedJudge): JudgeCalls {
  const { promptTokens: most } = judge;
  const options = { ...judge, think: false };
  return {
    calls: again(options),
    prompt: rangeOf(0, Math.min(most, RECORD / 2), most),
    answer: answerOf(options),
  };
}

/** @returns answer tokens per call; the maximum is an average, since one of two calls is short */
function answerOf(judge: CountedJudge): Range {
  const { think, answerTokens } = judge;
  const long = Math.max(answerTokens, THINKING_TOKENS);
  if (again(judge).high === 1) return rangeOf(0, think ? WORDS : answerTokens, long);
  return rangeOf(0, answerTokens, Math.ceil((answerTokens + long) / 2));
}

function opinions({ secondOpinion }: CountedJudge, { records }: JudgedPool): Range {
  return secondOpinion && records ? rangeOf(1, 2, 2) : rangeOf(1);
}

/** Looks at one patch; none if git refuses it. */
function looksAt({ samples = LOOKS }: CountedJudge): Range {
  return rangeOf(0, Math.floor(samples / 2) + 1, samples);
}

/** Comparisons in both orders, preceded by a summary of each record if requested. */
function compared(judge: CountedJudge, { patches, records }: JudgedPool, comparisons: Range): Range {
  const asked = product(comparisons, rangeOf(2 * (judge.samples ?? 1)), again(judge));
  if (!judge.summaries || !records) return asked;
  return sumOf([asked, product(patches, rangeOf(0, 1, 1), summaryCalls(judge).calls)]);
}

function allOf(n: number): number {
  return (n * (n - 1)) / 2;
}

/** Comparisons of the pivot tournament: the ring, those with the leaders (each has already met two), and a final of at most N. */
function tournament(n: number): Range {
  const ring = n < 3 ? Math.max(0, n - 1) : n;
  const withLeaders = PIVOTS * (n - 1) - 1;
  const least = Math.min(allOf(n), ring + Math.max(0, withLeaders - 2 * PIVOTS));
  return rangeOf(least, least, Math.min(allOf(n), ring + Math.max(0, withLeaders) + n));
}

/** Every pair; with many patches, the tournament and then the pairs of its leaders that have not met. */
function everyPair(n: number): Range {
  if (n <= FINALISTS) return rangeOf(allOf(n));
  const { low, high } = tournament(n);
  const finals = allOf(FINALISTS);
  const most = Math.min(allOf(n), high + finals);
  return rangeOf(Math.max(low, finals), Math.min(most, low + finals / 2), most);
}

/** Applies an increasing count to both ends and the likely value of a range. */
function ends({ low, likely, high }: Range, count: (n: number) => Range): Range {
  return rangeOf(count(low).low, count(likely).likely, count(high).high);
}

function product(...ranges: readonly Range[]): Range {
  return eachEnd((...values) => values.reduce((all, value) => all * value, 1), ...ranges);
}
