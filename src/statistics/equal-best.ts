export interface EqualBestRow {
  readonly preset: string;
  /** The smallest k asked for whose Best@k reaches the target; null when none does. */
  readonly k: number | null;
  /** k times the mean cost of a candidate; null without costs. */
  readonly cost: number | null;
}

export interface EqualBestReport {
  /** What the weakest preset but `random` reaches with every candidate. */
  readonly target: number;
  readonly reached_by: string;
  readonly mean_candidate_cost: number | null;
  readonly presets: readonly EqualBestRow[];
}

export interface PresetCurve {
  readonly preset: string;
  /** By k as asked. */
  readonly best: readonly number[];
}

/** How many candidates, and what cost, each preset needs for the same Best@K; null without a preset to compare. */
export function costAtEqualBest(
  curves: readonly PresetCurve[],
  ks: readonly number[],
  meanCost: number | null,
): EqualBestReport | null {
  const last = ({ best }: PresetCurve): number => best.at(-1) ?? 0;
  const weakest = curves.filter(({ preset }) => preset !== 'random').sort((a, b) => last(a) - last(b))[0];
  if (weakest === undefined) return null;
  const target = last(weakest);
  return {
    target,
    reached_by: weakest.preset,
    mean_candidate_cost: meanCost,
    presets: curves.map(({ preset, best }) => {
      const index = best.findIndex((value) => value >= target - 1e-12);
      const k = ks[index] ?? null;
      return { preset, k, cost: k === null || meanCost === null ? null : k * meanCost };
    }),
  };
}
