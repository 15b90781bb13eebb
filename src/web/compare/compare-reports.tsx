import { useState } from 'preact/hooks';
import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import { count, percent } from '../format.js';
import { Awaited, Notice, useAnswer } from '../notice.js';
import { linkToReport } from '../reports/reports-page.js';
import { allOf, CompareTable, Fact, letter } from '../comparison-columns.js';

const allReports = allOf<ComparedReport>;

/** Compares reports: each rule's results in each of them, and whether they cover the same instances. */
export function CompareReports({ ids }: { readonly ids: readonly string[] }) {
  const paths = ids.map((id) => `/v1/reports/${encodeURIComponent(id)}`).join(' ');
  const answer = useAnswer<readonly ComparedReport[]>(paths, allReports);
  return (
    <>
      <h1>Compare reports</h1>
      <p>
        <a href="#/reports">← Reports</a>
      </p>
      <Awaited answer={answer} what="the reports">
        {(reports) => (
          <>
            <Notice>{instancesText(reports, letter)}</Notice>
            <Rules ids={ids} reports={reports} />
            <Settings ids={ids} reports={reports} />
          </>
        )}
      </Awaited>
    </>
  );
}

interface Props {
  readonly ids: readonly string[];
  readonly reports: readonly ComparedReport[];
}

function headsOf({ ids, reports }: Props) {
  return reports.map(({ title }, index) => (
    <>
      {letter(index)}: <a href={linkToReport(ids[index] ?? '')}>{title === '' ? ids[index] : title}</a>
    </>
  ));
}

function Rules({ ids, reports }: Props) {
  const ks = ksOf(reports);
  const [k, setK] = useState(() => commonK(reports));
  if (ks.length === 0) return <Notice>None of these reports has labels, so rules cannot be compared.</Notice>;
  return (
    <section aria-labelledby="rules-title">
      <h2 id="rules-title">Best@{k} of each rule</h2>
      <p class="actions">
        <label>
          K{' '}
          <select
            value={k}
            onChange={(event) => {
              setK(Number(event.currentTarget.value));
            }}
          >
            {ks.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <span class="quiet">
          With 95% bootstrap intervals over issues (Wilson’s if all or none are right); in brackets, how far each is
          from A, in points. ★ the rule that the runs were made with.
        </span>
      </p>
      <CompareTable label="Rules of each report" lines="Rule" heads={headsOf({ ids, reports })}>
        {rulesAt(reports, k).map((row) => (
          <Rule key={row.rule} row={row} reports={reports} />
        ))}
      </CompareTable>
    </section>
  );
}

function Rule({ row: { rule, values }, reports }: { readonly row: RuleRow; readonly reports: Props['reports'] }) {
  const first = values[0];
  return (
    <tr>
      <th scope="row">{rule}</th>
      {values.map((value, index) => (
        <td key={letter(index)}>
          {value !== undefined && reports[index]?.headline.own?.preset === rule && <span aria-label="own">★ </span>}
          {estimateText(value)}
          {index > 0 && value !== undefined && first !== undefined && (
            <span class="quiet"> {apart(value.value - first.value)}</span>
          )}
        </td>
      ))}
    </tr>
  );
}

/** In percentage points, with a sign that is always one character wide. */
function apart(difference: number): string {
  const points = (Math.abs(difference) * 100).toFixed(1);
  return `[${points === '0.0' ? '±' : difference > 0 ? '+' : '−'}${points}]`;
}

function Settings({ ids, reports }: Props) {
  return (
    <section aria-labelledby="settings-title">
      <h2 id="settings-title">Data and settings</h2>
      <CompareTable label="Settings of each report" heads={headsOf({ ids, reports })}>
        <Fact name="Runs" values={reports.map(({ origins }) => count(origins?.runs.length ?? 0))} />
        <Fact name="Issues with labels" values={reports.map(({ curves }) => count(curves?.issues ?? 0))} />
        <Fact
          name="Issues with right and wrong candidates"
          values={reports.map(({ curves }) =>
            curves === null
              ? '–'
              : `${count(curves.selector_sensitive.issues)} (${percent(curves.selector_sensitive.share)})`,
          )}
        />
        {settingsOf(reports).map(([name, values]) => (
          <Fact key={name} name={name} values={values} />
        ))}
      </CompareTable>
    </section>
  );
}

/** The parts of a report that are compared. */
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

/** Every K of any report, ascending. */
function ksOf(reports: readonly ComparedReport[]): readonly number[] {
  const all = reports.flatMap(({ curves }) => curves?.settings.ks ?? []);
  return [...new Set(all)].sort((a, b) => a - b);
}

/** The largest K that all reports have; if there is none, the largest of any. */
export function commonK(reports: readonly ComparedReport[]): number {
  const known = reports.flatMap(({ curves }) => (curves === null ? [] : [curves.settings.ks]));
  const ks = ksOf(reports);
  return ks.findLast((k) => known.every((of) => of.includes(k))) ?? ks.at(-1) ?? 1;
}

/** A rule with its result in each report; undefined = the report lacks the rule or the K. */
interface RuleRow {
  readonly rule: string;
  readonly values: readonly (Estimate | undefined)[];
}

/** Pass@1 and Pass@K, then each rule of any report, sorted by its value in the first report that has it, best first. */
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

/** A sentence on whether the reports cover the same instances. */
export function instancesText(reports: readonly ComparedReport[], letterOf: (index: number) => string): string {
  const sets = reports.map(({ origins }) => new Set(origins?.runs.map(({ instance_id }) => instance_id)));
  const unknown = sets.flatMap((set, index) => (set.size === 0 ? [letterOf(index)] : []));
  if (unknown.length > 0)
    return `${unknown.join(', ')} lists no instances, so it is unknown whether the reports cover the same ones.`;
  const [first, ...others] = sets;
  if (first === undefined) return '';
  const apart = others.flatMap((set, index) => {
    const both = [...set].filter((id) => first.has(id)).length;
    if (both === set.size && both === first.size) return [];
    return [
      `${letterOf(index + 1)}: ${both} in both, ${set.size - both} only in ${letterOf(index + 1)}, ${first.size - both} only in A`,
    ];
  });
  if (apart.length === 0) return `All reports cover the same ${first.size} instances.`;
  return `The reports cover different instances, so their rates may not be comparable. Compared with the ${first.size} of A: ${apart.join('; ')}.`;
}

/** Settings named in any report, in order of first appearance, with each report's values. */
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
