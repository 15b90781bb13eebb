import type { BenchmarkReport } from '../benchmark/benchmark-report.js';
import { ownRule } from '../benchmark/headline.js';
import { costPlot } from './cost-plot.js';
import { curvesPlot } from './curves-plot.js';
import { headroomPlot } from './curves-plot.js';
import type { Plot } from './plot.js';
import { reliabilityPlot } from './judge-plots.js';
import { repositoryPlot } from './cost-plot.js';
import { riskPlot } from './risk-plot.js';
import { rocPlot } from './judge-plots.js';

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
