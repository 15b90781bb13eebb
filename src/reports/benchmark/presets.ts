import { NEEDED } from '../../../verifiers/hybrid/pool.js';
import { findPreset, PRESET_NAMES, requestedRule } from '../../../verifiers/hybrid/presets.js';
import type { Preset, Stage } from '../../core/run/preset.js';
import type { CurvesReport, PresetReport } from '../../statistics/curves/curves-report.js';
import type { ScoredIssue } from '../../statistics/curves/scored-issue.js';
import type { ReportedRun } from './reported-run.js';

/** Needs a trained combiner, or a posterior for every subset, which takes minutes: asked for by name. */
const ON_REQUEST: ReadonlySet<string> = new Set(['learned', 'latent', 'bayes']);

/** The rules of a report. */
export interface Rules {
  readonly presets: readonly Preset[];
  /** The user's own, which stands first: the first that was named, else the one that all runs were made with. */
  readonly own: string | null;
  /** Names of those that the others are compared with; absent = each with each. */
  readonly references: readonly string[] | undefined;
}

/** Every preset that there are scores for, but those that are asked for by name; and the one that all runs were made with. */
export function defaultRules(issues: readonly ScoredIssue[], runs: readonly ReportedRun[]): Rules {
  const known = presetsWithData(PRESET_NAMES.filter((name) => !ON_REQUEST.has(name)).map(findPreset), issues);
  const own = presetOfRuns(runs);
  const others = known.filter(({ name }) => name !== own?.name);
  const presets = own?.stages.every(isQuick) === true ? [own, ...others] : others;
  return { presets, own: own?.name ?? null, references: defaultReferences(presets) };
}

/** The one that all of them were made with; null where they differ. */
function presetOfRuns(runs: readonly ReportedRun[]): Preset | null {
  const [first, ...others] = runs.map(({ request }) => requestedRule(request).preset);
  const isSame = ({ name, stages }: Preset): boolean =>
    name === first?.name && JSON.stringify(stages) === JSON.stringify(first.stages);
  return first !== undefined && others.every(isSame) ? first : null;
}

/** Neither a posterior for every subset nor anything learned. */
export function isQuick(stage: Stage): boolean {
  return !('by' in stage && /^(posterior|p_right|learned|confidence)$/.test(stage.by));
}

/** @param text as the presets were named */
export function namedRules(text: string, presets: readonly Preset[], runs: readonly ReportedRun[]): Rules {
  const isAll = text.split(',').some((name) => name.trim() === 'all');
  const first = isAll ? presetOfRuns(runs) : presets.find(({ name }) => name !== 'random');
  return { presets, own: first?.name ?? null, references: defaultReferences(presets) };
}

/** A random pick; where that is not among them, the first. */
export function defaultReferences(presets: readonly Preset[]): readonly string[] {
  const names = presets.map(({ name }) => name);
  return names.includes('random') ? ['random'] : names.slice(0, 1);
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

/** `own` first, then the others by Best@K at the largest K, best first; equals stay in the order they were given. */
function presetsByBest(
  { presets, settings }: Pick<CurvesReport, 'presets' | 'settings'>,
  own: string | null,
): PresetReport[] {
  const k = String(settings.ks.at(-1) ?? 1);
  const rate = ({ preset, best_at_k }: PresetReport): number =>
    preset === own ? Infinity : (best_at_k[k]?.value ?? 0);
  return presets.toSorted((a, b) => rate(b) - rate(a));
}

/** A rule as a report shows it: with all that come out the same on every issue, since no number tells them apart. */
export interface RuleLine extends PresetReport {
  /** `random` is in nobody's: it is what the others are read against. */
  readonly alike: readonly string[];
}

/** As presetsByBest; of rules that come out the same, the first alone. */
export function linesByBest(
  curves: Pick<CurvesReport, 'presets' | 'settings' | 'alike'>,
  own: string | null,
): RuleLine[] {
  const shown = new Set<string>();
  return presetsByBest(curves, own).flatMap((each) => {
    if (shown.has(each.preset)) return [];
    const alike = alikeOf(curves, each.preset);
    for (const name of alike) shown.add(name);
    return [{ ...each, alike }];
  });
}

/** The others that come out the same on every issue. */
export function alikeOf({ alike }: Pick<CurvesReport, 'alike'>, preset: string): readonly string[] {
  const group = preset === 'random' ? undefined : alike.find((names) => names.includes(preset));
  return group?.filter((name) => name !== preset && name !== 'random') ?? [];
}

/** A line's name where there is room for one: `deepswe +3`. */
export function shortName({ preset, alike }: Pick<RuleLine, 'preset' | 'alike'>): string {
  return alike.length === 0 ? preset : `${preset} +${alike.length}`;
}
