import { NEEDED } from '../../../verifiers/hybrid/pool.js';
import { stageName, type Preset } from '../../core/run/preset.js';
import type { BestCurve, Method } from './best-at-k.js';
import { real } from './scored-issue.js';
import type { CoverageReport } from './coverage.js';
import type { PresetReport } from './curves-report.js';
import { wilson } from '../intervals/binomial.js';

const METHODS: readonly Method[] = ['exact', 'enumerated', 'monte-carlo'];

/** What is counted of one preset beside its curve. */
export class PresetTally {
  private readonly variances: Float64Array;
  private method = 0;
  private issues = 0;
  private picked = 0;
  private sensitive = { issues: 0, best: 0 };

  constructor(
    readonly preset: Preset,
    ks: number,
  ) {
    this.variances = new Float64Array(ks);
  }

  /** @param picked whether the patch returned from all candidates is right */
  add(curve: BestCurve, picked: boolean, isSensitive: boolean): void {
    this.issues += 1;
    this.picked += Number(picked);
    this.method = Math.max(this.method, METHODS.indexOf(curve.method));
    for (let index = 0; index < this.variances.length; index += 1) {
      this.variances[index] = real(this.variances, index) + real(curve.variances, index);
    }
    if (!isSensitive) return;
    this.sensitive.issues += 1;
    this.sensitive.best += curve.values.at(-1) ?? 0;
  }

  report(known: CoverageReport['known']): Omit<PresetReport, 'best_at_k' | 'recovered_headroom'> {
    const { issues, picked, sensitive } = this;
    const method = METHODS[this.method] ?? 'exact';
    return {
      preset: this.preset.name,
      method,
      monte_carlo_error: method === 'monte-carlo' ? Math.sqrt(Math.max(...this.variances)) / issues : null,
      picked: { resolved: picked, issues, rate: picked / issues, ...wilson(picked, issues) },
      best_where_sensitive: sensitive.issues === 0 ? null : sensitive.best / sensitive.issues,
      stages_without_data: this.preset.stages
        .filter((stage) => 'by' in stage && isUnknown(stage.by, known))
        .map(stageName),
    };
  }
}

function isUnknown(by: string, known: CoverageReport['known']): boolean {
  const needed = (Object.hasOwn(NEEDED, by) ? NEEDED[by] : undefined) ?? by;
  return (known[needed] ?? (needed.includes(':') ? 0 : 1)) === 0;
}
