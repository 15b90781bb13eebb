import { changeOf } from '../../verifiers/hybrid/entry.js';
import type { Pool } from '../../verifiers/hybrid/pool.js';
import { grouped } from '../core/grouped.js';
import type { Admission } from '../core/run/verifier.js';
import type { RunResult } from '../core/run/run-result.js';
import type { Verdict } from '../core/run/verdict.js';
import type { Described } from './entries.js';

/** Counts of a run's candidates and admitted tests. */
export function countVerified(
  described: readonly Described[],
  verdicts: readonly Verdict[],
  admissions: readonly Admission[],
): Omit<RunResult['statistics'], 'tests_given' | 'agents' | keyof ReturnType<typeof expectedRates>> {
  const scored = verdicts.filter(({ kind }) => kind === 'scored').map(({ candidate_id }) => candidate_id);
  return {
    k: described.length,
    distinct_patches: new Set(described.flatMap(({ entry }) => changeOf(entry) ?? [])).size,
    verified: new Set(scored).size,
    tests_admitted: admissions.filter(({ admitted }) => admitted).length,
  };
}

/** Expected rates by the posterior; null without candidates. */
export function expectedRates(pool: Pool): Pick<RunResult['statistics'], 'expected_pass_at_1' | 'expected_pass_at_k'> {
  const { right, any } = pool.beliefs();
  return { expected_pass_at_1: mean([...right.values()]), expected_pass_at_k: right.size === 0 ? null : any };
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The same for each agent's candidates; empty for a run with one agent. */
export function statisticsByAgent(pool: Pool): RunResult['statistics']['agents'] {
  const named = pool.entries.filter(({ agent }) => agent !== undefined);
  const { right } = pool.beliefs();
  return [...grouped(named, ({ agent = '' }) => agent)].map(([agent, own]) => ({
    agent,
    k: own.length,
    distinct_patches: new Set(own.flatMap((entry) => changeOf(entry) ?? [])).size,
    expected_pass_at_1: mean(own.map(({ id }) => right.get(id) ?? 0)),
    expected_pass_at_k: pool.anyOf(new Set(own.map(({ id }) => id))),
  }));
}
