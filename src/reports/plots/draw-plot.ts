import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { BenchmarkReport } from '../benchmark/benchmark-report.js';
import { ownRule } from '../benchmark/headline.js';
import { costPlot, repositoryPlot } from './cost-plot.js';
import { curvesPlot, headroomPlot } from './curves-plot.js';
import { reliabilityPlot, riskPlot, rocPlot } from './judge-plots.js';
import { type Plot, THEME } from './plot.js';
import { visible } from '../../core/visible.js';

/** Where the build puts the one font of the package that is used. */
const BUILT_FONT = fileURLToPath(new URL('../../../packages/DejaVuSans.ttf', import.meta.url));

/** PNG pixels for one of the SVG's. */
const ZOOM = 2;

/**
 * The plot as a self-contained SVG: shapes and text, no script, no style sheet, nothing to load. The same input gives the
 * same bytes.
 */
export async function drawSvg({ spec, title }: Plot): Promise<string> {
  const vega = await import('vega');
  const { compile } = await import('vega-lite');
  // Ids of clip paths count through the whole process otherwise.
  vega.resetSVGDefIds();
  const view = new vega.View(vega.parse(compile({ ...spec, config: THEME }).spec), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  // Names come from outside: vega escapes them, but keeps characters that no XML may hold.
  return visible(svg.replace('<svg ', `<svg role="img" aria-label="${attribute(title)}" `));
}

/** On white, with a font that is brought along, so that it looks the same on every machine. */
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

/** The plots that the report has numbers for, in the order they are read. */
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
