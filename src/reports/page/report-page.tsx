import { renderToString } from 'preact-render-to-string';
import { type BenchmarkReport, ownRule } from '../benchmark/headline.js';
import { sentences } from '../benchmark/sentences.js';
import { amount, dollars, percent, type Place, type Section, withInterval } from '../figures.js';
import type { DrawnPlot } from '../plots/plot.js';
import { sectionsOf } from '../sections/sections-of.js';
import { STYLE, TableOfPage, visible } from './table-of-page.js';

/** The content of a page, from top to bottom. */
interface PageContent {
  readonly title: string;
  readonly sentences: readonly string[];
  readonly figures: readonly Figure[];
  readonly sections: readonly Section[];
  readonly plots: readonly DrawnPlot[];
  /** Null for a file. */
  readonly back: Place['back'] | null;
}

/**
 * A report as one HTML document.
 * @param place null = it is a file
 */
export function reportPage(report: BenchmarkReport, plots: readonly DrawnPlot[], place: Place | null = null): string {
  const said = { title: report.title, sentences: sentences(report), figures: headlineFigures(report) };
  return page({ ...said, sections: sectionsOf(report, place), plots, back: place?.back ?? null });
}

/**
 * One HTML document without scripts or external resources; all external text is escaped. Its content security policy also
 * forbids scripts and requests, in case something slips through.
 */
export function page({ title, sentences: said, figures, sections, plots, back }: PageContent): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={policy} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{visible(title)}</title>
        <style dangerouslySetInnerHTML={{ __html: STYLE }} />
      </head>
      <body>
        <main>
          {back !== null && (
            <nav aria-label="Back">
              <a href={back.href} target="_top">
                ← {back.text}
              </a>
            </nav>
          )}
          <h1>{visible(title)}</h1>
          {said.map((sentence) => (
            <p>{visible(sentence)}</p>
          ))}
          <Figures figures={figures} />
          {sections.map((section) => (
            <SectionOfPage section={section} plots={plots} />
          ))}
        </main>
      </body>
    </html>
  );
  return `<!doctype html>\n${renderToString(document)}\n`;
}

function Figures({ figures }: Pick<PageContent, 'figures'>) {
  if (figures.length === 0) return null;
  return (
    <dl class="figures">
      {figures.map(({ name, value, note }) => (
        <div class={value.length > LONGEST_LARGE ? 'long' : ''}>
          <dt>{name}</dt>
          <dd>
            {visible(value)}
            <small>{visible(note)}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Longest value, in characters, that fits a card in large type. */
const LONGEST_LARGE = 12;

function SectionOfPage({ section, plots }: { readonly section: Section; readonly plots: readonly DrawnPlot[] }) {
  return (
    <section>
      <h2>{visible(section.title)}</h2>
      {section.text.map((text) => (
        <p>{visible(text)}</p>
      ))}
      {plots
        .filter(({ plot }) => section.plots.includes(plot.name))
        .map((drawn) => (
          <PlotFigure {...drawn} />
        ))}
      {section.tables
        .filter(({ rows }) => rows.length > 0)
        .map((table) => (
          <TableOfPage table={table} />
        ))}
    </section>
  );
}

/** A plot with its note and its numbers. The SVG is drawn by bestk with all text escaped. */
export function PlotFigure({ plot: { title, note, table }, svg }: DrawnPlot) {
  return (
    <figure>
      <figcaption>
        <strong>{visible(title)}</strong>
        <div class="soft">{visible(note)}</div>
      </figcaption>
      <div
        class="scroll"
        tabIndex={0}
        role="region"
        aria-label={`Drawing: ${visible(title)}`}
        dangerouslySetInnerHTML={{ __html: svg }}
      />
      <details>
        <summary>Numbers</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers: ${visible(title)}`}>
          <table>
            <thead>
              <tr>
                {table.columns.map((name) => (
                  <th scope="col">{visible(name)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.map((row) => (
                <tr>
                  {row.map((cell) => (
                    <td class={typeof cell === 'number' ? 'number' : ''}>{cellText(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

function cellText(cell: string | number | null): string {
  if (cell === null) return '–';
  return typeof cell === 'string' ? visible(cell) : String(Math.round(cell * 1e6) / 1e6);
}

interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

/** The few key numbers shown large at the top. */
function headlineFigures(report: BenchmarkReport): readonly Figure[] {
  const { headline, returned, spending } = report;
  const runs =
    returned === null
      ? []
      : [{ name: 'Runs', value: amount(returned.runs), note: `${returned.without_patch} without a patch` }];
  return [...selectionFigures(report), ...runs, ...(spending === null ? [] : [costFigure(headline)])];
}

function selectionFigures({ headline, curves }: BenchmarkReport): readonly Figure[] {
  const { winner, k, pass_at_1, pass_at_k } = headline;
  if (winner === null || k === null) return [];
  const { best_at_k, recovered_headroom } = (ownRule(headline) === null ? null : headline.own) ?? headline;
  return [
    ruleFigure(winner, ownRule(headline) ?? winner, curves?.presets.length ?? 0),
    { name: `Best@${k}`, value: percent(best_at_k?.value), note: withInterval(best_at_k).replace(/^[^(]*/, '') },
    { name: 'Pass@1', value: percent(pass_at_1), note: 'a random candidate' },
    { name: `Pass@${k}`, value: percent(pass_at_k), note: 'a perfect selector' },
    { name: 'Head-room', value: percent(recovered_headroom, 0), note: 'share of the gap recovered' },
  ];
}

function ruleFigure(winner: string, shown: string, rules: number): Figure {
  if (winner === shown) return { name: 'Best selector', value: winner, note: `of ${rules} rules` };
  return { name: 'Selector', value: shown, note: `${winner} is the best of ${rules}` };
}

function costFigure({ usd_per_issue, tokens_per_issue }: BenchmarkReport['headline']): Figure {
  if (usd_per_issue !== null) return { name: 'Cost', value: dollars(usd_per_issue), note: 'per issue' };
  return { name: 'Cost', value: amount(Math.round(tokens_per_issue ?? 0)), note: 'tokens per issue' };
}
