import fc from 'fast-check';
import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { withEqualPatches } from '../../../verifiers/hybrid/entry.js';
import { Pool } from '../../../verifiers/hybrid/pool.js';
import { compareBy, runStage } from '../../../verifiers/hybrid/stages.js';
import type { Preset, Stage } from '../../../src/core/run/preset.js';
import { ruleOf, selectBest } from '../../../verifiers/hybrid/select.js';
import { type ScoredIssue, splitByLabel } from '../../../src/statistics/curves/scored-issue.js';
import { anyPool, entryOf } from '../verifiers/hybrid/entry-of.js';

export function issueOf(entries: readonly Entry[], resolved: readonly (boolean | null)[], id = 'o__r-1'): ScoredIssue {
  const candidates = entries.map((entry, index) => ({
    entry,
    resolved: resolved[index] ?? null,
    cost: null,
    axes: {},
  }));
  return { instanceId: id, repo: 'o/r', ...splitByLabel(candidates) };
}

/** An issue of `n` candidates of which the first `c` are right, and nothing else is known. */
export function countsOnly(n: number, c: number, id = `o__r-${n}-${c}`): ScoredIssue {
  const entries = Array.from({ length: n }, (_, index) => entryOf(`${index}`));
  return issueOf(
    entries,
    entries.map((_, index) => index < c),
    id,
  );
}

/** Issues with many ties, gaps, empty patches and equal patches. */
export function anyIssue(max = 9): fc.Arbitrary<ScoredIssue> {
  return anyPool(max).chain(labelled);
}

/** Issues with verdicts of two values and nothing else, so that most candidates are tied. */
export function anyTiedIssue(max = 9): fc.Arbitrary<ScoredIssue> {
  const two = fc.integer({ min: 0, max: 1 });
  const facts = fc.record({ execution_free: two, regression: two, reproduction: two });
  return fc
    .array(facts, { minLength: 1, maxLength: max })
    .chain((all) => labelled(all.map((known, index) => entryOf(`c${index}`, known))));
}

function labelled(pool: Entry[]): fc.Arbitrary<ScoredIssue> {
  return fc
    .array(fc.boolean(), { minLength: pool.length, maxLength: pool.length })
    .map((resolved) => issueOf(pool, resolved));
}

/** Every k-subset of a list. */
export function subsetsOf<T>(items: readonly T[], k: number): T[][] {
  if (k === 0) return [[]];
  return items.flatMap((item, index) => subsetsOf(items.slice(index + 1), k - 1).map((rest) => [item, ...rest]));
}

/**
 * Best@k by going through every subset with the selection itself. Ties that only the id breaks are averaged: candidates
 * equal in all stages share their mean label, and so do those left when the ids decide. What a stage after the ids drops counts
 * as wrong. (Right for presets whose stages after a `top` order by what the `top` ordered by, or have no tie there.)
 */
export function bestByEnumeration(issue: ScoredIssue, preset: Preset, k: number): number {
  // What is said of a patch is said of all its copies, drawn or not.
  const entriesOfAll = withEqualPatches(issue.candidates.map(({ entry }) => entry));
  const candidates = issue.candidates.map((each, index) => ({ ...each, entry: entriesOfAll[index] ?? each.entry }));
  const end = preset.stages.findIndex(({ stage }) => stage === 'lowest-id' || stage === 'random');
  const stages = end === -1 ? preset.stages : preset.stages.slice(0, end);
  const vetoes = end === -1 ? [] : preset.stages.slice(end + 1);
  const chances = subsetsOf(candidates, k).map((subset) => {
    const entries = subset.map(({ entry }) => entry);
    const pool = new Pool({ instanceId: 'i', entries });
    const returns = (entry: Entry): boolean =>
      vetoes.every((stage) => runStage(stage, pool, [entry], compareBy(stage, pool)).kept.length === 1);
    const labels = new Map(subset.map(({ entry, resolved }) => [entry.id, Number(resolved && returns(entry))]));
    const selection = selectBest({ instanceId: 'i', entries }, ruleOf({ ...preset, stages }));
    if (selection.candidate_id === null) return 0;
    const left = selection.stages.filter(({ name }) => name !== 'lowest-id').at(-1)?.kept ?? [...labels.keys()];
    if (!stages.some(({ stage }) => stage === 'top')) return mean(left.map((id) => labels.get(id) ?? NaN));
    const twins = twinsAmong(pool, stages);
    return mean(left.map((id) => mean((twins.get(id) ?? []).map((twin) => labels.get(twin) ?? NaN))));
  });
  return mean(chances);
}

/** By id, all candidates that no stage can tell from it, itself included. */
function twinsAmong(pool: Pool, stages: readonly Stage[]): Map<string, string[]> {
  const compares = stages.map((stage) => compareBy(stage, pool));
  const equal = (a: Entry, b: Entry): boolean => compares.every((compare) => compare(a, b) === 0);
  return new Map(
    pool.entries.map((one) => [one.id, pool.entries.filter((other) => equal(one, other)).map(({ id }) => id)]),
  );
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
