import { priceOf } from '../core/budget.js';
import { BadInputError } from '../core/errors.js';
import type { RunRequest } from '../core/run-request.js';
import { findPreset } from '../../verifiers/hybrid/presets.js';
import { isJudge, type VerifierName } from '../core/verifier-name.js';
import type { RunKitFactory } from './run-kit.js';

/**
 * Refuses what could never be done with these settings.
 * @returns the verifiers to use
 * @throws BadInputError naming the field and the setting
 */
export function checkRequest(request: RunRequest, kits: RunKitFactory): readonly VerifierName[] {
  checkPreset(request.preset);
  const names = request.verifiers ?? kits.defaults;
  if (names.some(isJudge) && kits.verifierModel === null) {
    throw new BadInputError(
      'the execution-free verifier needs a model, and BESTK_VERIFIER_MODEL is not set.',
      { field: 'verifiers' },
      'Set BESTK_VERIFIER_MODEL (and OPENAI_BASE_URL), or ask for the verifiers "eb" alone.',
    );
  }
  if (request.candidates === null && kits.agent === null) {
    throw new BadInputError(
      'sampling candidates needs a model, and BESTK_AGENT_MODEL is not set.',
      { field: 'candidates' },
      'Set BESTK_AGENT_MODEL (and OPENAI_BASE_URL), or give the candidates.',
    );
  }
  checkPrices(request, names, kits);
  return names;
}

function checkPreset(preset: string): void {
  findPreset(preset);
  if (preset !== 'learned') return;
  throw new BadInputError(
    'the preset "learned" needs a trained combiner.',
    { field: 'preset' },
    'It is used by `bestk curves`.',
  );
}

/** A limit in money says nothing about calls whose price nobody knows. */
function checkPrices(request: RunRequest, names: readonly VerifierName[], kits: RunKitFactory): void {
  if ((request.budget?.usd ?? null) === null) return;
  const unpriced = kits.modelsOf(request, names).find((model) => priceOf(model, kits.prices) === null);
  if (unpriced === undefined) return;
  throw new BadInputError(
    `is in US dollars, but the price of the model "${unpriced}" is not known.`,
    { field: 'budget.usd' },
    'Name a price table in BESTK_PRICES (a model of your own may cost 0), or limit tokens or seconds.',
  );
}
