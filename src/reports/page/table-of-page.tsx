import { visibleLine } from '../../core/visible.js';
import type { Column, SectionTable } from '../sections/section.js';

/** Long tables are folded; a scrolling box can be reached by keyboard. */
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
 * Sorted by the reader, without a script: each row knows its place by each column, the chosen column says which place counts,
 * and the rows are items of a grid, which have an order of their own.
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

/** Numbers from the largest, words from A; equal ones share a place, and what is not known comes last. */
function placesBy(column: readonly (string | number | null)[], isNumber: boolean): readonly number[] {
  const known = [...new Set(column.filter((value) => value !== null))];
  const inOrder = isNumber
    ? known.sort((a, b) => Number(b) - Number(a))
    : known.sort((a, b) => (String(a) < String(b) ? -1 : 1));
  const places = new Map(inOrder.map((value, index) => [value, index + 1]));
  return column.map((value) => (value === null ? inOrder.length + 1 : (places.get(value) ?? 0)));
}

/** Longer texts are cut: a page is to be read. */
const LONGEST = 2_000;

/** Text from outside for a page: what could steer or mislead a reader is made visible; escaping is the renderer's. */
export function visible(text: string): string {
  return visibleLine(text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text);
}
