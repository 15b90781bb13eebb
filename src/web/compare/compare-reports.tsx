import { useState } from 'preact/hooks';
import { count, percent } from '../format.js';
import { Awaited, Notice } from '../notice.js';
import { linkToReport } from '../reports/report-page.js';
import { useAnswer } from '../use-answer.js';
import { allOf, CompareTable, Fact, letter } from './columns.js';
import {
  commonK,
  type ComparedReport,
  estimateText,
  instancesText,
  ksOf,
  type RuleRow,
  rulesAt,
  settingsOf,
} from './reports-model.js';

const allReports = allOf<ComparedReport>;

/** Reports beside each other: what each rule comes to in each of them, and whether they are of the same instances. */
export function CompareReports({ ids }: { readonly ids: readonly string[] }) {
  const paths = ids.map((id) => `/v1/reports/${encodeURIComponent(id)}`).join(' ');
  const answer = useAnswer<readonly ComparedReport[]>(ids.length === 0 ? null : paths, allReports);
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
  if (ks.length === 0) return <Notice>None of them has labels: nothing is known of right and wrong.</Notice>;
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
          With intervals of 95 %; in brackets, how far each is from A, in points. ★ the rule that the runs were made
          with.
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

/** In points, with a sign that is one letter wide. */
function apart(difference: number): string {
  const points = (Math.abs(difference) * 100).toFixed(1);
  return `[${points === '0.0' ? '±' : difference > 0 ? '+' : '−'}${points}]`;
}

function Settings({ ids, reports }: Props) {
  return (
    <section aria-labelledby="settings-title">
      <h2 id="settings-title">What they were made of</h2>
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
