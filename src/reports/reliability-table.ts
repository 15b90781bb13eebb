import type { Calibration } from '../core/run/fitted.js';
import { visibleLine } from '../core/visible.js';
import type { ReliabilityBin } from '../statistics/intervals/ranking-quality.js';
import { counted } from './figures.js';
import { table } from './selection-table.js';

/** What `calibrate` found, for people. @param out where it was written */
export function reliabilityTable(
  { labels, data_card: card }: Calibration,
  reliability: readonly ReliabilityBin[],
  out: string,
): string {
  const share = (value: number | null): string => value?.toFixed(3) ?? '-';
  const bins = reliability.map((bin) => [
    `${bin.from.toFixed(1)} to ${bin.to.toFixed(1)}`,
    String(bin.candidates),
    share(bin.mean_score),
    `${share(bin.resolved_rate)} [${share(bin.low)}, ${share(bin.high)}]`,
  ]);
  const behind = Object.entries(labels).map(([name, [right, wrong]]) => [visibleLine(name), `${right}`, `${wrong}`]);
  return [
    table([['fitted on', 'right', 'wrong'], ...behind]),
    '',
    `Returned patches on repositories that were left out (${counted(card.issues, 'issue')}, ${counted(card.folds, 'part')}):`,
    table([['confidence', 'patches', 'mean', 'right (95 %)'], ...bins]),
    '',
    `Right: ${share(card.picked_right)}, said: ${share(card.mean_confidence)}. ECE ${share(card.ece)}, Brier ${share(card.brier)}, AUC ${share(card.auc)}`,
    `Calibration: ${out}`,
  ].join('\n');
}
