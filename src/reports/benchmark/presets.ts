import { NEEDED } from '../../../verifiers/hybrid/pool.js';
import { findPreset, PRESET_NAMES } from '../../../verifiers/hybrid/presets.js';
import type { Preset, Stage } from '../../core/run/preset.js';
import type { CurvesReport, PresetReport } from '../../statistics/curves/curves-report.js';
import type { ScoredIssue } from '../../statistics/curves/scored-issue.js';

/** Needs a trained combiner, or a posterior for every subset, which takes minutes: asked for by name. */
const ON_REQUEST: ReadonlySet<string> = new Set(['learned', 'latent', 'bayes']);

/** What rules are compared with when none are named. */
export const REFERENCES: readonly string[] = ['random'];

/** Every preset that there are scores for, but those that are asked for by name. */
export function defaultPresets(issues: readonly ScoredIssue[]): readonly Preset[] {
  return presetsWithData(PRESET_NAMES.filter((name) => !ON_REQUEST.has(name)).map(findPreset), issues);
}

/** The presets whose first ranking stage has something to rank by; the others would fall through to their tie-breaks. */
function presetsWithData(presets: readonly Preset[], issues: readonly ScoredIssue[]): readonly Preset[] {
  const known = new Set<string>();
  for (const { candidates } of issues) {
    for (const { entry } of candidates) {
      for (const [field, value] of Object.entries(entry)) if (value !== null && value !== undefined) known.add(field);
    }
  }
  return presets.filter(({ stages }) => {
    const needed = stages.map(fieldsOf).find((fields) => fields.length > 0) ?? [];
    return needed.length === 0 || needed.some((field) => known.has(field));
  });
}

function fieldsOf(stage: Stage): readonly string[] {
  if (stage.stage === 'weighted') return stage.of.map(({ by }) => by);
  return 'by' in stage ? [NEEDED[stage.by] ?? stage.by] : [];
}

/** The presets by Best@K at the largest K, best first; equals stay in the order they were given. */
export function presetsByBest({ presets, settings }: Pick<CurvesReport, 'presets' | 'settings'>): PresetReport[] {
  const k = String(settings.ks.at(-1) ?? 1);
  const rate = ({ best_at_k }: PresetReport): number => best_at_k[k]?.value ?? 0;
  return presets.toSorted((a, b) => rate(b) - rate(a));
}
