import { useMemo } from 'preact/hooks';
import type { PlotsOfBenchmark } from '../../http/benchmarks/benchmarks.controller.js';
import { drawingOf } from './drawing.js';

type Plot = PlotsOfBenchmark['plots'][number];

/** The plots of a report, as it draws them, each with the numbers behind it. */
export function PlotFigures({ plots }: PlotsOfBenchmark) {
  return (
    <div class="plots">
      {plots.map((plot) => (
        <PlotFigure key={plot.name} plot={plot} />
      ))}
    </div>
  );
}

function PlotFigure({ plot: { title, note, svg, columns, rows } }: { readonly plot: Plot }) {
  const drawing = useMemo(() => drawingOf(svg), [svg]);
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        <span class="quiet plot-note">{note}</span>
      </figcaption>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Drawing: ${title}`}>
        {drawing}
      </div>
      <details>
        <summary>Numbers</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers: ${title}`}>
          <Numbers columns={columns} rows={rows} />
        </div>
      </details>
    </figure>
  );
}

function Numbers({ columns, rows }: Pick<Plot, 'columns' | 'rows'>) {
  return (
    <table class="list">
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {row.map((cell, column) => (
              <td key={columns[column]} class={typeof cell === 'number' ? 'number' : undefined}>
                {cellText(cell)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function cellText(cell: string | number | null): string {
  if (cell === null) return '–';
  return typeof cell === 'string' ? cell : String(Math.round(cell * 1e6) / 1e6);
}
