import { sha256 } from '../identifier.js';
import {
  type PatchFile,
  patchSize,
  type ReadablePatch,
  readPatch,
  type Refusal,
  type SetApartFile,
  splitPatch,
} from './patch.js';
import { roleOf } from './roles.js';

/** What a run goes by of a patch. */
type PatchSummary =
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

/**
 * SHA-256 of what a patch's source files say to git: for each file, by path, its kind of change and its hunks, numbers
 * and context included, since these decide whether and where git applies a hunk. Equal for patches that differ only in
 * index lines, the order of files or what stands around hunks: git does the same with them, so one is verified for all.
 */
export function fingerprint({ files }: ReadablePatch): string {
  const source = files.filter(({ role }) => role === 'source');
  const described = source.map(describe);
  const ordered = orderMatters(source) ? described : described.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return sha256(JSON.stringify(ordered));
}

/** Git keeps account of files that a patch moves or names twice. */
function orderMatters(files: readonly PatchFile[]): boolean {
  const paths = new Set(files.map(({ path }) => path));
  return paths.size < files.length || files.some(({ parsed }) => parsed.isRename === true || parsed.isCopy === true);
}

/** With the members in the order in which `contentKey` would sort them: for a million lines that takes seconds. */
function describe({ path, text, parsed }: PatchFile): [string, ...unknown[]] {
  const { oldFileName, newFileName, isRename, isCopy, isCreate, isDelete, isBinary, oldMode, newMode, hunks } = parsed;
  const kind = { isBinary, isCopy, isCreate, isDelete, isRename, newFileName, newMode, oldFileName, oldMode };
  const changes = hunks.map(({ oldStart, newStart, lines }) => [oldStart, newStart, lines]);
  return [path, kind, isBinary === true ? text : changes];
}
