import { visibleLine } from '../../core/hostile-text.js';
import { DARK } from '../plots/plot.js';
import type { Column, SectionTable } from '../figures.js';

/** Tables with more rows are folded; a scrolling box is reachable by keyboard. */
const LONGEST_OPEN = 30;

export function TableOfPage({ table }: { readonly table: SectionTable }) {
  const { caption, columns, rows, values } = table;
  const box = (
    <div class="scroll" tabIndex={0} role="region" aria-label={visible(caption)}>
      {values === undefined ? (
        <PlainTable columns={columns} rows={rows} />
      ) : (
        <SortableTable {...table} values={values} />
      )}
    </div>
  );
  if (rows.length <= LONGEST_OPEN) return box;
  return (
    <details>
      <summary>
        {visible(caption)} ({rows.length})
      </summary>
      {box}
    </details>
  );
}

function PlainTable({ columns, rows }: Pick<SectionTable, 'columns' | 'rows'>) {
  return (
    <table>
      <thead>
        <tr>
          {columns.map(({ name, isNumber }) => (
            <th scope="col" class={isNumber ? 'number' : ''}>
              {visible(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            <Cells row={row} columns={columns} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cells({ row, columns }: { readonly row: readonly string[]; readonly columns: readonly Column[] }) {
  return (
    <>
      {row.map((cell, index) => {
        const { isNumber = false, href, text: shown } = columns[index] ?? {};
        const text = visible(shown?.(cell) ?? cell);
        return (
          <td class={isNumber ? 'number' : ''}>
            {href === undefined || cell === '–' ? (
              text
            ) : (
              <a href={href(cell)} target="_top">
                {text}
              </a>
            )}
          </td>
        );
      })}
    </>
  );
}

/**
 * Sortable without a script: each row has its rank by each column in a CSS variable, the chosen radio button selects which
 * variable sets `order`, and the rows are grid items, which CSS can reorder.
 */
function SortableTable({ columns, rows, values }: SectionTable & Required<Pick<SectionTable, 'values'>>) {
  const places = columns.map(({ isNumber }, index) =>
    placesBy(
      values.map((row) => row[index] ?? null),
      isNumber,
    ),
  );
  const rules = columns.map(
    (_, index) =>
      `.sortable:has([value="${index}"]:checked) tbody tr{order:var(--c${index})}` +
      `.sortable:has(.back:checked):has([value="${index}"]:checked) tbody tr{order:calc(-1*var(--c${index}))}`,
  );
  return (
    <div class="sortable">
      <style dangerouslySetInnerHTML={{ __html: rules.join('') }} />
      <p class="soft">
        A column’s button sorts by it.{' '}
        <label>
          <input type="checkbox" class="back" /> the other way round
        </label>
      </p>
      <table style={`grid-template-columns:repeat(${columns.length},auto)`}>
        <thead>
          <tr>
            {columns.map(({ name, isNumber }, index) => (
              <th scope="col" class={isNumber ? 'number' : ''}>
                <label>
                  <input type="radio" name="sort" value={index} checked={index === 0} /> {visible(name)}
                </label>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr style={places.map((of, index) => `--c${index}:${of[at] ?? 0}`).join(';')}>
              <Cells row={row} columns={columns} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Ranks: numbers descending, text ascending; ties share a rank, unknown values come last. */
function placesBy(column: readonly (string | number | null)[], isNumber: boolean): readonly number[] {
  const known = [...new Set(column.filter((value) => value !== null))];
  const inOrder = isNumber
    ? known.sort((a, b) => Number(b) - Number(a))
    : known.sort((a, b) => (String(a) < String(b) ? -1 : 1));
  const places = new Map(inOrder.map((value, index) => [value, index + 1]));
  return column.map((value) => (value === null ? inOrder.length + 1 : (places.get(value) ?? 0)));
}

/** Longer texts are cut to keep pages readable. */
const LONGEST = 2_000;

/** External text for a page: characters that could mislead a reader are made visible; the renderer escapes it. */
export function visible(text: string): string {
  return visibleLine(text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text);
}

/** Plots set colours in SVG attributes, which any style rule overrides. */
const DARK_PLOTS = Object.entries(DARK)
  .map(([from, to]) => `svg [fill="${from}"]{fill:${to}}svg [stroke="${from}"]{stroke:${to}}`)
  .join('');

/** The page's whole style sheet; it loads nothing. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1d1f23;--paper:#fff;--soft:#5c626b;--line:#d8dbe0;--panel:#f5f6f8;--accent:#0b5c94}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1080px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:24px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:18px;margin:40px 0 8px}
p{margin:8px 0;max-width:76ch}.soft{color:var(--soft);font-size:13px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:10px;margin:18px 0;padding:0}
.figures div{background:var(--panel);border-radius:8px;padding:10px 14px}
.figures dt{color:var(--soft);font-size:13px}.figures dd{margin:0;font-size:20px;font-weight:600;overflow-wrap:anywhere}
.figures .long{grid-column:span 2}.figures .long dd{font-size:17px}
.figures small{display:block;font-weight:400;font-size:12px;color:var(--soft)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;margin:10px 0}
th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word;max-width:40em}
td:first-child{min-width:9em}
th{font-weight:600;white-space:nowrap}td.number,th.number{text-align:right;white-space:nowrap}
a{color:var(--accent)}label{cursor:pointer}.sortable table{display:grid;width:max-content}.sortable thead,.sortable tbody{display:contents}
.sortable tr{display:grid;grid-column:1/-1;grid-template-columns:subgrid}.sortable thead tr{order:-9999999}.sortable input{margin:0}
tr.first td{font-weight:600}code{font-size:12px;overflow-wrap:anywhere}
figure{margin:20px 0}figure svg{display:block;max-width:100%;height:auto}
summary{cursor:pointer;color:var(--accent)}summary:focus-visible,a:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181c;--soft:#a7adb6;--line:#34383f;--panel:#20242a;--accent:#7cc0f0}${DARK_PLOTS}}
@media (max-width:40em){figure svg{max-width:none}}@media print{details{display:none}}
`.trim();
