import { requestedRule } from '../../../verifiers/hybrid/rule.js';
import type { RunRequest } from '../../core/run/run-request.js';
import type { RunResult } from '../../core/run/run-result.js';
import type { GradedRun } from '../../ports/benchmark-store.js';
import type { BenchmarkCurve } from '../../runs/benchmark-service.js';
import { poolOfRun } from '../../runs/entries.js';
import { bestAtK } from '../../statistics/curves/best-at-k.js';
import { labelled, passAtK } from '../../statistics/curves/scored-issue.js';
import { wilsonInterval } from '../../statistics/intervals/wilson-interval.js';
import { isQuick } from './presets.js';

/** Few enough that a run takes milliseconds; over a benchmark's issues, what they leave to chance evens out. */
const SUBSETS = { enumerateUpTo: 1_000, draws: 1_000, seed: 1 };
/** Up to so many candidates, each k is worked out. */
const EACH_K = 8;

/** The k of `n` candidates: each of few, else powers of two and all; those of fewer candidates below n are among them. */
export function ksOf(n: number): readonly number[] {
  if (n <= EACH_K) return Array.from({ length: n }, (_, index) => index + 1);
  const powers = Array.from({ length: Math.ceil(Math.log2(n)) }, (_, index) => 2 ** index);
  return [...powers, n];
}

/**
 * Best@k of a run's graded candidates by the rule that it was decided with, ties averaged, by {@link ksOf}. Null without a
 * graded candidate, and for rules that would take minutes or may return nothing by their confidence.
 */
export function runCurve(
  request: RunRequest,
  result: RunResult,
  labels: ReadonlyMap<string, boolean>,
): readonly number[] | null {
  const { preset, minConfidence, combiner, calibration } = requestedRule(request);
  const { entries, authors } = poolOfRun(request, result);
  const own = labelled(
    entries.map((entry) => ({ entry, resolved: labels.get(entry.id) ?? null, cost: null, axes: {} })),
  );
  if (own.candidates.length === 0 || minConfidence !== null || !preset.stages.every(isQuick)) return null;
  const issue = { instanceId: request.issue.instance_id, repo: '', authors, ...own };
  const knowledge = () => ({ combiner, calibration });
  return [...bestAtK(issue, preset, ksOf(own.candidates.length), { ...SUBSETS, knowledge }).values];
}

/** An arm over its graded issues; one with fewer candidates than k counts with all it has. */
export function armCurve(arm: string, runs: readonly GradedRun[]): BenchmarkCurve {
  const known = runs.filter(({ right }) => right !== null);
  const graded = runs.filter((run) => run.graded > 0);
  const knowsBest = graded.every(({ best }) => best !== null);
  return {
    arm,
    issues: graded.length,
    selected: known.length === 0 ? null : { ...meanOf(known.map(({ right }) => Number(right))), issues: known.length },
    points: ksOf(Math.max(0, ...graded.map((run) => run.graded))).map((k) => ({
      k,
      pass_at_k: meanOf(graded.map((run) => passAtK(run.graded, run.right_candidates, Math.min(k, run.graded)))),
      best_at_k: knowsBest ? meanOf(graded.map((run) => bestOf(run, k))) : null,
    })),
  };
}

function bestOf({ graded, best }: GradedRun, k: number): number {
  return best?.[ksOf(graded).indexOf(Math.min(k, graded))] ?? 0;
}

/** Of chances, Wilson's interval is at least as wide as it has to be: they vary at most as outcomes do. */
function meanOf(chances: readonly number[]): { value: number; low: number; high: number } {
  const sum = chances.reduce((total, chance) => total + chance, 0);
  return { value: sum / chances.length, ...wilsonInterval(sum, chances.length) };
}
