import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type BenchmarkReport, ownRule } from '../benchmark/headline.js';
import { curvesPlot, headroomPlot } from './curves-plot.js';
import { reliabilityPlot, riskPlot, rocPlot } from './judge-plots.js';
import { type Plot, THEME, encodeSeries, GREY, INK, labelLayers, SERIES, shareAxis, shareDomain } from './plot.js';
import { visible } from '../../core/hostile-text.js';
import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import type { RepositoryRow } from '../../statistics/intervals/bootstrap.js';
import { linesByBest, shortName } from '../benchmark/presets.js';
import type { Spending } from '../benchmark/spending.js';

/** Where the build puts the one font used from the package. */
const BUILT_FONT = fileURLToPath(new URL('../../../packages/DejaVuSans.ttf', import.meta.url));

/** PNG pixels per SVG pixel. */
const ZOOM = 2;

/**
 * The plot as a self-contained SVG: shapes and text, no scripts, style sheets or external resources. The same input gives the
 * same bytes.
 */
export async function drawSvg({ spec, title }: Plot): Promise<string> {
  const vega = await import('vega');
  const { compile } = await import('vega-lite');
  // Otherwise clip path ids keep counting across all plots of the process.
  vega.resetSVGDefIds();
  const view = new vega.View(vega.parse(compile({ ...spec, config: THEME }).spec), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  // Names are external text: vega escapes them, but keeps characters that are illegal in XML.
  return visible(svg.replace('<svg ', () => `<svg role="img" aria-label="${attribute(title)}" `));
}

/** On a white background, with the bundled font, so that it looks the same on every machine. */
export async function drawPng(svg: string): Promise<Buffer> {
  const { Resvg } = await import('@resvg/resvg-js');
  const font = existsSync(BUILT_FONT)
    ? BUILT_FONT
    : createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
  const drawn = new Resvg(svg, {
    background: '#ffffff',
    fitTo: { mode: 'zoom', value: ZOOM },
    font: { fontFiles: [font], loadSystemFonts: false, defaultFontFamily: 'DejaVu Sans' },
  });
  return drawn.render().asPng();
}

function attribute(text: string): string {
  return text.replace(/[&"<>]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** The plots that the report has numbers for, in reading order. */
export function plotsOf({ curves, spending, repositories, headline, returned }: BenchmarkReport): readonly Plot[] {
  if (curves === null) return [];
  const own = ownRule(headline);
  const cost = spending === null ? null : costPlot(curves, spending, own);
  const repos = repositoryPlot(repositories, own ?? headline.winner);
  const plots = [
    curvesPlot(curves, own),
    headroomPlot(curves, own),
    cost,
    rocPlot(curves),
    reliabilityPlot(curves),
    riskPlot('rule', [{ series: 'as returned', judged: returned?.confidences ?? [] }]),
    repos,
  ];
  return plots.filter((plot) => plot !== null);
}

const MOST_LINES = 3;
const HEIGHT = 260;

interface Point {
  readonly preset: string;
  readonly k: number;
  readonly label: string;
  readonly cost: number;
  readonly value: number;
}

/** Best@K against cost: dollars if prices are known, otherwise tokens; null if nothing was paid for. */
function costPlot(curves: CurvesReport, { usd, tokens }: Spending, own: string | null): Plot | null {
  const { ks } = curves.settings;
  const growth = usd ?? tokens;
  if (growth.per_candidate === 0) return null;
  const unit = usd === null ? 'tokens per issue' : 'US dollars per issue';
  const drawn = linesByBest(curves, own).slice(0, MOST_LINES);
  const values = drawn.flatMap(({ best_at_k, ...line }) =>
    ks.map((k) => ({
      preset: shortName(line),
      k,
      label: `K = ${k}`,
      cost: growth.once + k * growth.per_candidate,
      value: best_at_k[String(k)]?.value ?? 0,
    })),
  );
  return {
    name: 'cost',
    title: 'Best@K against cost',
    note: 'One point per K: the cost of sampling and judging grows with K, that of writing tests does not. Stored answers cost nothing and are not counted.',
    spec: costSpec(values, unit),
    table: {
      columns: ['rule', 'k', unit, 'Best@K'],
      rows: values.map(({ preset, k, cost, value }) => [preset, k, cost, value]),
    },
  };
}

function costSpec(values: Point[], unit: string): Plot['spec'] {
  const names = [...new Set(values.map(({ preset }) => preset))];
  const encoded = encodeSeries('preset', names, { random: GREY });
  const { color, strokeDash, shape } = encoded;
  const domain = shareDomain(values.map(({ value }) => value));
  const dearest = Math.max(...values.map(({ cost }) => cost));
  const ends = values
    .filter(({ cost }) => cost === dearest)
    .map(({ preset, value, label }) => ({ preset, series: preset, value, x: dearest, text: `${preset}, ${label}` }));
  const scale = { zero: false, padding: 24 };
  const x = {
    field: 'cost',
    type: 'quantitative',
    title: unit,
    scale,
    axis: { format: unit === 'tokens per issue' ? '~s' : '$.2~f' },
  } as const;
  const y = shareAxis('value', 'Best@K', domain);
  return {
    width: 480,
    height: HEIGHT,
    layer: [
      { data: { values }, mark: { type: 'line', strokeWidth: 2 }, encoding: { x, y, color, strokeDash } },
      {
        data: { values },
        mark: { type: 'point', filled: true, size: 45, opacity: 1 },
        encoding: { x, y, color, shape },
      },
      {
        data: { values: values.filter(({ preset, cost }) => preset === names[0] && cost < dearest) },
        mark: { type: 'text', dy: -12, fontSize: 10, color: INK },
        encoding: { x, y, text: { field: 'label', type: 'nominal' } },
      },
      ...labelLayers(ends, domain, HEIGHT, encoded),
    ],
  };
}

const MOST_ROWS = 20;

interface Row {
  readonly name: string;
  readonly first: number;
  readonly any: number;
  readonly rate: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** For each repository: a random candidate, what a rule returned, a perfect selector. */
function repositoryPlot(rows: readonly RepositoryRow[], preset: string | null): Plot | null {
  if (rows.length < 2 || preset === null) return null;
  const values = rows.map((row) => rowOf(row, preset));
  const cut = rows.length > MOST_ROWS ? `; the ${MOST_ROWS} largest of ${rows.length}` : '';
  return {
    name: 'repositories',
    title: `By repository: Pass@1 (triangle), returned by ${preset} (dot), Pass@all (bar)`,
    note: `Number of issues in brackets; Wilson 95% intervals of the returned patches${cut}.`,
    spec: repositorySpec(values.slice(0, MOST_ROWS)),
    table: {
      columns: ['repository (issues)', 'Pass@1', `returned by ${preset}`, 'low', 'high', 'Pass@all'],
      rows: values.map(({ name, first, rate, low, high, any }) => [name, first, rate, low, high, any]),
    },
  };
}

function rowOf({ repo, issues, pass_at_1, pass_at_all, picked }: RepositoryRow, preset: string): Row {
  const { rate = 0, low = null, high = null } = picked.find((each) => each.preset === preset) ?? {};
  return { name: `${repo} (${issues})`, first: pass_at_1, any: pass_at_all, rate, low, high };
}

function repositorySpec(values: Row[]): Plot['spec'] {
  const names = values.map(({ name }) => name);
  const y = { field: 'name', type: 'nominal', sort: names, title: null, axis: { labelLimit: 240 } } as const;
  const x = (field: string) => shareAxis(field, 'issues resolved');
  const point = { type: 'point', filled: true, opacity: 1 } as const;
  return {
    data: { values },
    width: 380,
    height: { step: 20 },
    layer: [
      {
        mark: { type: 'rule', color: SERIES[0], strokeWidth: 1.5 },
        encoding: { y, x: x('low'), x2: { field: 'high' } },
      },
      { mark: { ...point, shape: 'triangle-up', size: 45, color: GREY }, encoding: { y, x: x('first') } },
      { mark: { type: 'tick', thickness: 3, size: 12, color: INK }, encoding: { y, x: x('any') } },
      { mark: { ...point, size: 60, color: SERIES[0] }, encoding: { y, x: x('rate') } },
    ],
  };
}
