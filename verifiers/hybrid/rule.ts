import { BadInputError } from '../../src/core/errors/errors.js';
import { contentKey } from '../../src/core/fingerprint.js';
import type { RunRequest } from '../../src/core/run/run-request.js';
import { findPreset, learnedPreset } from './presets.js';
import type { Rule } from './select.js';

/** What of a request says how its candidates are decided. */
export type RequestedRule = Pick<RunRequest, 'preset' | 'stages' | 'combiner' | 'calibration' | 'min_confidence'>;

/** The rule of a request, the same wherever its verdicts are decided. @throws BadInputError naming the field */
export function requestedRule(request: RequestedRule): Rule {
  const { preset: name, stages, combiner, calibration, min_confidence: minConfidence } = request;
  const preset =
    stages !== null
      ? { name, stages }
      : name === 'learned' && combiner !== null
        ? learnedPreset(combiner)
        : findPreset(name);
  if (combiner === null && preset.stages.some((stage) => 'by' in stage && /^(learned|confidence)$/.test(stage.by))) {
    throw new BadInputError(
      `the preset "${name}" needs a trained combiner.`,
      { field: 'combiner' },
      'Train one with `bestk curves --learn --save-combiner FILE`, and give it with --combiner FILE.',
    );
  }
  return { preset, combiner, calibration, minConfidence };
}

/** Content hashes of what a request brought with it. */
export function ruleHashes({ preset, stages, combiner, calibration }: RequestedRule): Record<string, string> {
  const given = { preset: stages === null ? null : { name: preset, stages }, combiner, calibration };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === null ? [] : [[name, contentKey(value)]])),
  );
}
