import type { Verdict } from '../core/verdict.js';
import type { VerificationTask, Verifier } from '../core/verifier.js';

/**
 * Runs the verifiers at once and hands on each one's verdicts as they exist. When one fails the others are stopped:
 * nothing goes on in the background of a failed run.
 * @returns verdicts of all verifiers, and each verifier's wall seconds by name
 */
export async function score(
  verifiers: readonly Verifier[],
  task: VerificationTask,
  emit: (verdict: Verdict) => Promise<void>,
  signal: AbortSignal,
): Promise<{ verdicts: readonly Verdict[]; seconds: Readonly<Record<string, number>> }> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const seconds: Record<string, number> = {};
  const running = verifiers.map(async (verifier) => {
    const start = performance.now();
    const verdicts = await verifier.verify(task, both);
    seconds[verifier.name] = Math.round(performance.now() - start) / 1000;
    for (const verdict of verdicts) await emit(verdict);
    return verdicts;
  });
  try {
    return { verdicts: (await Promise.all(running)).flat(), seconds };
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(running);
    throw error;
  }
}
