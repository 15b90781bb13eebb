import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import { percent } from '../format.js';

/** What of a report is compared. */
export interface ComparedReport {
  readonly title: string;
  readonly curves: CurvesReport | null;
  readonly headline: { readonly own: { readonly preset: string } | null };
  readonly origins: {
    readonly runs: readonly { readonly instance_id: string }[];
    readonly settings: readonly {
      readonly what: string;
      readonly values: readonly { readonly value: string; readonly runs: number }[];
    }[];
  } | null;
}

type Estimate = CurvesReport['pass_at_k'][string];

/** Every K that some report has, in rising order. */
export function ksOf(reports: readonly ComparedReport[]): readonly number[] {
  const all = reports.flatMap(({ curves }) => curves?.settings.ks ?? []);
  return [...new Set(all)].sort((a, b) => a - b);
}

/** The largest that all of them have; of none, the largest of any. */
export function commonK(reports: readonly ComparedReport[]): number {
  const known = reports.flatMap(({ curves }) => (curves === null ? [] : [curves.settings.ks]));
  const ks = ksOf(reports);
  return ks.findLast((k) => known.every((of) => of.includes(k))) ?? ks.at(-1) ?? 1;
}

/** A rule with what it comes to in each report; undefined = it is not there, or that report has no such K. */
export interface RuleRow {
  readonly rule: string;
  readonly values: readonly (Estimate | undefined)[];
}

/** Pass@1 and Pass@K, then each rule that some report has, the best of the first report first. */
export function rulesAt(reports: readonly ComparedReport[], k: number): readonly RuleRow[] {
  const pass = (at: number): RuleRow => ({
    rule: `Pass@${at}`,
    values: reports.map(({ curves }) => curves?.pass_at_k[String(at)]),
  });
  const names = [...new Set(reports.flatMap(({ curves }) => curves?.presets.map(({ preset }) => preset) ?? []))];
  const rules = names.map((rule) => ({
    rule,
    values: reports.map(({ curves }) => curves?.presets.find(({ preset }) => preset === rule)?.best_at_k[String(k)]),
  }));
  const first = ({ values }: RuleRow): number => values.find((value) => value !== undefined)?.value ?? -1;
  return [pass(1), ...(k === 1 ? [] : [pass(k)]), ...rules.sort((a, b) => first(b) - first(a))];
}

export function estimateText(estimate: Estimate | undefined): string {
  if (estimate === undefined) return '–';
  const { value, low, high } = estimate;
  if (low === null || high === null) return percent(value);
  return `${percent(value)} (${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)})`;
}

/** Whether the reports are of the same instances, in a sentence. */
export function instancesText(reports: readonly ComparedReport[], letterOf: (index: number) => string): string {
  const sets = reports.map(({ origins }) => new Set(origins?.runs.map(({ instance_id }) => instance_id)));
  const unknown = sets.flatMap((set, index) => (set.size === 0 ? [letterOf(index)] : []));
  if (unknown.length > 0) return `${unknown.join(', ')} names no instances: whether they are the same is not known.`;
  const [first, ...others] = sets;
  if (first === undefined) return '';
  const apart = others.flatMap((set, index) => {
    const both = [...set].filter((id) => first.has(id)).length;
    if (both === set.size && both === first.size) return [];
    return [`${letterOf(index + 1)}: ${both} in both, ${set.size - both} here alone, ${first.size - both} in A alone`];
  });
  if (apart.length === 0) return `The same ${first.size} instances in all of them.`;
  return `Not the same instances, so that their rates need not be comparable. Against the ${first.size} of A: ${apart.join('; ')}.`;
}

/** Settings of runs that some report names, in the order of the first, with what each says. */
export function settingsOf(reports: readonly ComparedReport[]): readonly (readonly [string, readonly string[]])[] {
  const names = [...new Set(reports.flatMap(({ origins }) => origins?.settings.map(({ what }) => what) ?? []))];
  return names.map((name) => [
    name,
    reports.map(({ origins }) => {
      const values = origins?.settings.find(({ what }) => what === name)?.values ?? [];
      return values.length === 0 ? '–' : values.map(({ value }) => value).join(' | ');
    }),
  ]);
}
