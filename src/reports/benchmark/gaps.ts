import { notExecuted } from '../../runs/score.js';
import type { ReportedRun } from './reported-run.js';

/** Reasons that say nothing about a patch: Docker, a model or a budget failed. */
const INFRASTRUCTURE: ReadonlySet<string> = new Set(['infrastructure', 'model-unavailable', 'budget-spent']);

interface Counted {
  readonly what: string;
  readonly count: number;
}

/** What is missing from the evidence, and why. */
export interface Gaps {
  readonly candidates: number;
  /** Runs in which no test was executed on anybody. */
  readonly not_executed: number;
  /** By measure: candidates with a score, and abstentions by reason. */
  readonly measures: readonly {
    readonly measure: string;
    readonly scored: number;
    readonly abstained: readonly (Counted & { readonly infrastructure: boolean })[];
  }[];
  readonly tests: { readonly given: number; readonly admitted: number; readonly refused: readonly Counted[] };
  /** Admitted tests that told no candidates apart, of those with a known worth. */
  readonly tests_without_information: number;
  /** Tries that could not be sampled, by code. */
  readonly not_sampled: readonly Counted[];
}

export function gapsOf(runs: readonly ReportedRun[]): Gaps {
  const admissions = runs.flatMap((run) => run.admissions);
  const refused = admissions.filter(({ admitted }) => !admitted);
  const quality = runs.flatMap(({ test_quality }) => test_quality);
  return {
    candidates: runs.reduce((sum, { entries }) => sum + entries.length, 0),
    not_executed: runs.filter(({ verdicts }) => notExecuted(verdicts) !== null).length,
    measures: measuresOf(runs),
    tests: {
      given: admissions.length,
      admitted: admissions.length - refused.length,
      refused: most(refused.map(({ reason }) => reason ?? 'was refused')),
    },
    tests_without_information: quality.filter(({ information }) => information === 0).length,
    not_sampled: most(runs.flatMap(({ sampling }) => (sampling?.failed ?? []).map(({ code }) => code))),
  };
}

function measuresOf(runs: readonly ReportedRun[]): Gaps['measures'] {
  const verdicts = runs.flatMap((run) => run.verdicts);
  const measures = [...new Set(verdicts.map(({ measure }) => measure))].sort();
  return measures.map((measure) => {
    const own = verdicts.filter((verdict) => verdict.measure === measure);
    const reasons = own.flatMap((verdict) => (verdict.kind === 'abstained' ? [verdict.reason ?? 'unknown'] : []));
    return {
      measure,
      scored: own.length - reasons.length,
      abstained: most(reasons).map((each) => ({ ...each, infrastructure: INFRASTRUCTURE.has(each.what) })),
    };
  });
}

/** Each with its number, the most first. */
function most(all: readonly string[]): readonly Counted[] {
  const counts = new Map<string, number>();
  for (const what of all) counts.set(what, (counts.get(what) ?? 0) + 1);
  return [...counts]
    .sort(([a, ofA], [b, ofB]) => ofB - ofA || (a < b ? -1 : 1))
    .map(([what, count]) => ({ what, count }));
}
