import { BadInputError } from '../../src/core/errors/errors.js';
import type { WellKnownMeasure } from '../../src/core/run/measure.js';
import { Preset, type Stage, type Term } from './stage.js';

/** A patch that changes no source, or that does not apply, is never returned, whatever the preset. */
const ELIGIBLE: readonly Stage[] = [
  { stage: 'keep', where: 'has-source-change' },
  { stage: 'keep', where: 'applies' },
];
const FINISHED: Stage = { stage: 'keep', where: 'finished' };
const LOWEST_ID: Stage = { stage: 'lowest-id' };
const SHORTEST: Stage = { stage: 'min', by: 'patch_size' };
const AGREEMENT: Stage = { stage: 'max', by: 'cluster_size' };
const EXECUTION_FREE: Stage = { stage: 'max', by: 'execution_free' };
const EXECUTION: readonly Stage[] = [
  { stage: 'max', by: 'regression' },
  { stage: 'max', by: 'reproduction' },
];
const VETO: Stage = { stage: 'above', by: 'execution_free', than: 0.01, otherwise: 'keep-all' };

/** The selection rules by name; docs/selection-rules.md says whose they are and where they differ from the original. */
const STAGES = {
  deepswe: [
    FINISHED,
    { stage: 'top', by: 'execution_free', n: 'deepswe' },
    ...EXECUTION,
    EXECUTION_FREE,
    AGREEMENT,
    SHORTEST,
  ],
  'r2e-notebook': [{ stage: 'top', by: 'execution_free', n: 'deepswe' }, ...EXECUTION, EXECUTION_FREE],
  'r2e-aggregate': [{ stage: 'top', by: 'execution_free', n: 'half' }, ...EXECUTION, EXECUTION_FREE],
  agentless: [...EXECUTION, AGREEMENT],
  codemonkeys: [{ stage: 'max', by: 'reproduction' }, SHORTEST],
  kimi: [{ stage: 'weighted', of: [term('reproduction', 1), term('regression', 1)], within: 0 }],
  codet: [{ stage: 'max', by: 'dual_agreement' }],
  kozuchi: [{ stage: 'weighted', of: [term('reproduction', 0.3), term('regression', 0.7)], within: 0.001 }, SHORTEST],
  'entropo-verified': [FINISHED, ...EXECUTION, VETO, { stage: 'max', by: 'steps' }],
  'entropo-lite': [FINISHED, VETO, { stage: 'min', by: 'steps' }],
  latent: [FINISHED, { stage: 'max', by: 'posterior' }, EXECUTION_FREE, AGREEMENT, SHORTEST],
  'ef-only': [EXECUTION_FREE],
  'eb-only': [...EXECUTION],
  majority: [AGREEMENT],
  shortest: [SHORTEST],
  random: [{ stage: 'random', seed: 0 }],
  learned: [{ stage: 'max', by: 'learned' }, EXECUTION_FREE, AGREEMENT, SHORTEST],
} as const satisfies Record<string, readonly Stage[]>;

export type PresetName = keyof typeof STAGES;

export const PRESET_NAMES = Object.keys(STAGES) as readonly PresetName[];

/** @throws BadInputError for an unknown name, listing the known ones */
export function findPreset(name: string): Preset {
  if (!isKnown(name)) {
    throw new BadInputError(
      `unknown preset "${name}".`,
      { field: 'preset' },
      `Known presets: ${PRESET_NAMES.join(', ')}.`,
    );
  }
  return { name, stages: [...ELIGIBLE, ...STAGES[name], LOWEST_ID] };
}

/**
 * A preset written by a user: `{name, stages: […]}`. Nothing is added to the stages but the lowest id as last tie-break.
 * @param file where it was read, for the message
 * @throws BadInputError naming the field
 */
export function parsePreset(value: unknown, file?: string): Preset {
  const parsed = Preset.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = parsed.error.issues[0];
  throw new BadInputError(problem?.message ?? 'is not a preset', { file, field: problem?.path.join('.') });
}

function isKnown(name: string): name is PresetName {
  return Object.hasOwn(STAGES, name);
}

function term(by: WellKnownMeasure, weight: number): Term {
  return { by, weight };
}
