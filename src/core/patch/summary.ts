import { fingerprint } from './fingerprint.js';
import { patchSize, readPatch, type Refusal, type SetApartFile, splitPatch } from './patch.js';
import { roleOf } from './roles.js';

/** What a run goes by of a patch. */
export type PatchSummary =
  | { readonly kind: 'empty' }
  | ({ readonly kind: 'refused' } & Refusal)
  | {
      readonly kind: 'ok';
      /** What is applied for verification; '' = nothing. */
      readonly source: string;
      readonly setApart: readonly SetApartFile[];
      /** Manifests that are applied, since the issue is about them. */
      readonly manifests: readonly string[];
      readonly size: number;
      readonly fingerprint: string;
    };

interface Patched {
  readonly patch: string;
}

/** A patch of megabytes takes a tenth of a second to read, and is asked about again and again. */
const known = new WeakMap<Patched, { readonly statement: string; readonly summary: PatchSummary }>();

/** @param statement of the issue */
export function summaryOf(candidate: Patched, statement: string): PatchSummary {
  const held = known.get(candidate);
  if (held?.statement === statement) return held.summary;
  const summary = summarise(candidate, statement);
  known.set(candidate, { statement, summary });
  return summary;
}

/** Reads the patches of candidates for those who ask later; others have their turn between one and the next. */
export async function readSummaries(candidates: readonly Patched[], statement: string): Promise<void> {
  for (const candidate of candidates) {
    summaryOf(candidate, statement);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function summarise({ patch: text }: Patched, statement: string): PatchSummary {
  const patch = readPatch(text, statement);
  if (patch.kind !== 'ok') return patch;
  const manifests = patch.files.filter(({ role, path }) => role === 'source' && roleOf(path) === 'runner-config');
  return {
    kind: 'ok',
    ...splitPatch(patch),
    manifests: manifests.map(({ path }) => path),
    size: patchSize(patch),
    fingerprint: fingerprint(patch),
  };
}
