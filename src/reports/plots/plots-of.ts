import type { BenchmarkReport } from '../benchmark/benchmark-report.js';
import { costPlot } from './cost-plot.js';
import { curvesPlot } from './curves-plot.js';
import { headroomPlot } from './curves-plot.js';
import type { Plot } from './plot.js';
import { reliabilityPlot } from './judge-plots.js';
import { repositoryPlot } from './cost-plot.js';
import { rocPlot } from './judge-plots.js';

/** The plots that the report has numbers for, in the order they are read. */
export function plotsOf({ curves, spending, repositories, headline }: BenchmarkReport): readonly Plot[] {
  if (curves === null) return [];
  const cost = spending === null ? null : costPlot(curves, spending);
  const repos = repositoryPlot(repositories, headline.winner);
  const plots = [curvesPlot(curves), headroomPlot(curves), cost, rocPlot(curves), reliabilityPlot(curves), repos];
  return plots.filter((plot) => plot !== null);
}
