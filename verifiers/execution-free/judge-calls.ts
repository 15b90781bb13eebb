import { eachEnd, type Range, rangeOf, sumOf } from '../../src/core/budget/budget.js';
import type { JudgeCalls, JudgedPool, JudgeMethod } from '../../src/core/run/verifier.js';
import { LOOKS } from './agent/agent.js';
import { THINKING_TOKENS } from './ask.js';
import { PROBES } from './critic/critic.js';
import type { JudgeOptions } from './judge-options.js';
import { FINALISTS, PIVOTS } from './pairs/pairwise.js';
import { VOTES } from './pointwise/yes-no.js';

/** What of a judge's options says how often it asks. */
export interface CountedJudge extends Pick<
  JudgeOptions,
  'samples' | 'think' | 'answerTokens' | 'promptTokens' | 'secondOpinion' | 'summaries' | 'patchAlone' | 'prompt'
> {
  /** Of the rubric; those that are asked of a patch alone, too. */
  readonly criteria: Readonly<Record<'all' | 'ofPatch', number>>;
  /** One look with tools. */
  readonly look: LookCalls;
}

export interface LookCalls {
  readonly calls: Range;
  /** Tokens of one call, of which `answer` are its answer. */
  readonly context: number;
  readonly answer: number;
}

/** Tokens of a summary, a description, reasons. */
const WORDS = 1_024;
/** Tokens of a record of 27 steps that grow by 730 each (docs/sampling.md), and of an issue with a patch. */
const RECORD = 22_000;
const PATCH = 3_000;

/** What asking a judge about a pool comes to: the least where no server fails, the most where every question needs its last resort. */
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
  // A patch without source changes is asked nothing.
  backward: (judge, pool) => {
    const { samples = 1 } = judge;
    return product(pool.patches, rangeOf(0, 1 + samples, 1 + samples), again(judge));
  },
  critic: (_judge, { patches }) => sumOf([patches, rangeOf(0, 1, PROBES.length)]),
  pairwise: (judge, pool) => compared(judge, pool, ends(pool.patches, tournament)),
  pairs: (judge, pool) => compared(judge, pool, ends(pool.distinct, everyPair)),
};

/** The last resort where neither a verdict nor a letter could be read. */
const GRADE = 1;

/** A model whose first answer ends within its thoughts is asked again with room for them. */
function again({ think, answerTokens }: CountedJudge): Range {
  return rangeOf(1, 1, think || answerTokens >= THINKING_TOKENS ? 1 : 2);
}

/** One call of a summary. */
export function summaryCalls(judge: CountedJudge): JudgeCalls {
  const options = { ...judge, think: false, answerTokens: Math.max(judge.answerTokens, WORDS) };
  const { promptTokens: most } = judge;
  return {
    calls: again(options),
    prompt: rangeOf(0, Math.min(most, RECORD), most),
    answer: answerOf(options),
  };
}

/** One look at a running rollout. */
export function progressCalls(judge: CountedJudge): JudgeCalls {
  const { promptTokens: most } = judge;
  const options = { ...judge, think: false };
  return {
    calls: again(options),
    prompt: rangeOf(0, Math.min(most, RECORD / 2), most),
    answer: answerOf(options),
  };
}

/** @returns the most on average: of two calls one is short */
function answerOf(judge: CountedJudge): Range {
  const { think, answerTokens } = judge;
  const long = Math.max(answerTokens, THINKING_TOKENS);
  if (again(judge).high === 1) return rangeOf(0, think ? WORDS : answerTokens, long);
  return rangeOf(0, answerTokens, Math.ceil((answerTokens + long) / 2));
}

function opinions({ secondOpinion }: CountedJudge, { records }: JudgedPool): Range {
  return secondOpinion && records ? rangeOf(1, 2, 2) : rangeOf(1);
}

/** Looks at one patch; none where git refuses it. */
function looksAt({ samples = LOOKS }: CountedJudge): Range {
  return rangeOf(0, Math.floor(samples / 2) + 1, samples);
}

/** Comparisons in both orders, and a summary of each record first where they are asked for. */
function compared(judge: CountedJudge, { patches, records }: JudgedPool, comparisons: Range): Range {
  const asked = product(comparisons, rangeOf(2 * (judge.samples ?? 1)), again(judge));
  if (!judge.summaries || !records) return asked;
  return sumOf([asked, product(patches, rangeOf(0, 1, 1), summaryCalls(judge).calls)]);
}

function allOf(n: number): number {
  return (n * (n - 1)) / 2;
}

/** Comparisons of the pivot tournament: the ring, then those with the leaders, of which each has met two; the end is at most N more. */
function tournament(n: number): Range {
  const ring = n < 3 ? Math.max(0, n - 1) : n;
  const withLeaders = PIVOTS * (n - 1) - 1;
  const least = Math.min(allOf(n), ring + Math.max(0, withLeaders - 2 * PIVOTS));
  return rangeOf(least, least, Math.min(allOf(n), ring + Math.max(0, withLeaders) + n));
}

/** Of every pair; of many patches those that lead a tournament, without the pairs that it had. */
function everyPair(n: number): Range {
  if (n <= FINALISTS) return rangeOf(allOf(n));
  const { low, high } = tournament(n);
  const finals = allOf(FINALISTS);
  const most = Math.min(allOf(n), high + finals);
  return rangeOf(Math.max(low, finals), Math.min(most, low + finals / 2), most);
}

/** A count that grows with the number: its least of the least, its most of the most. */
function ends({ low, likely, high }: Range, count: (n: number) => Range): Range {
  return rangeOf(count(low).low, count(likely).likely, count(high).high);
}

function product(...ranges: readonly Range[]): Range {
  return eachEnd((...values) => values.reduce((all, value) => all * value, 1), ...ranges);
}
