import { dirname, resolve } from 'node:path';
import { isWithin, patchHash, stemOf } from '../io/saved-runs/saved-records.js';
import type { SavedRun, Sealed } from '../io/saved-runs/saved-run.js';
import { contradiction } from './label-book.js';

/** A label of an import with the file it was read from. */
export type FiledLabel<Row extends Sealed = Sealed> = Row & { readonly file: string };

/** A label that is not used. */
export interface Homeless {
  readonly file: string;
  readonly reason: string;
}

type Placed = Pick<SavedRun, 'instance_id' | 'candidate_id' | 'submitted'> & {
  readonly origin: Pick<SavedRun['origin'], 'file'> & Partial<SavedRun['origin']>;
  readonly patch?: string | undefined;
};

/** How labels may refer to a candidate. */
interface Known {
  /** Its file, and those of its copies. */
  readonly files: Set<string>;
  /** Its ids there. */
  readonly names: Set<string>;
  /** The model of its prediction, after which the harness names folders; null when it is no prediction. */
  readonly model: string | null;
  /** Hash; null when the patch is not known. */
  readonly patch: string | null;
}

/** What a run of bestk returned: a label of its instance without a candidate id applies to it. */
interface Returned {
  /** Null if no patch was worth returning. */
  readonly candidate_id: string | null;
  /** The name in the run's predictions. */
  readonly model: string;
}

/** What was said of a candidate first, and where. */
interface Outcome {
  readonly resolved: boolean | null;
  /** Only by the summary of a whole run. */
  readonly isOfSummary: boolean;
  readonly file: string;
  readonly line: number | undefined;
}

type KnownById = ReadonlyMap<string, Known>;
const NOBODY: KnownById = new Map<string, Known>();
type Reason = Pick<Homeless, 'reason'>;

/**
 * Joins labels from separate files with the candidates of the import. Rows are held in memory until `settle`, so they should be
 * without what is sealed.
 */
export class ImportLabels<Row extends Sealed = Sealed> {
  private readonly known = new Map<string, Map<string, Known>>();
  private readonly returned = new Map<string, Returned>();
  private readonly apart: Apart<Row>[] = [];
  private readonly outcomes = new Map<string, Outcome>();
  private readonly contradictions: Homeless[] = [];
  /** Whether any summary of a run is named after a candidate. */
  private areSummariesNamed: boolean | null = null;

  /**
   * @param candidate with the file or folder it was read from
   * @param from its id there, if it was renamed
   */
  candidate({ instance_id, candidate_id, origin, patch, submitted }: Placed, from = candidate_id): void {
    const known = this.known.get(instance_id) ?? new Map<string, Known>();
    const hash = patch === undefined ? null : patchHash({ patch, submitted });
    const model = origin.format === 'swe-bench-predictions' ? (origin.model ?? null) : null;
    known.set(candidate_id, {
      files: new Set([origin.file]),
      names: new Set([candidate_id, from]),
      model,
      patch: hash,
    });
    this.known.set(instance_id, known);
  }

  /**
   * @param copy with the id of its candidate
   * @param from its own id
   */
  copy({ instance_id, candidate_id, origin }: Placed, from: string): void {
    const original = this.known.get(instance_id)?.get(candidate_id);
    original?.files.add(origin.file);
    original?.names.add(from);
  }

  returns(instanceId: string, returned: Returned): void {
    this.returned.set(instanceId, returned);
  }

  /**
   * Returns a row whose candidate is already known; otherwise keeps it for `settle` and returns null.
   * @param line that of a file of labels
   * @throws BadInputError if a file of labels contradicts itself
   */
  keep(row: Row, file: string, line?: number): FiledLabel<Row> | null {
    if (row.warning !== undefined) {
      this.contradictions.push({ file, reason: `unknown whether "${row.instance_id}" is resolved: ${row.warning}` });
    }
    if (row.candidate_id !== null && this.known.get(row.instance_id)?.has(row.candidate_id) === true) {
      return this.agrees(row, { file, line }) ? { ...row, file } : null;
    }
    const patch = row.patch === undefined ? null : patchHash({ patch: row.patch });
    this.apart.push({ row: { ...row, patch: undefined }, file, line, patch });
    return null;
  }

  /** The kept rows with their candidates, those whose candidate was not found, and those that contradict others. */
  settle(): Settled<Row> {
    const rows: FiledLabel<Row>[] = [];
    const homeless: Homeless[] = [];
    const isPerModel = this.perModel();
    const [ofRuns, ofInstances] = [this.apart.filter(isOfSummary), this.apart.filter((kept) => !isOfSummary(kept))];
    for (const kept of [...ofInstances, ...ofRuns]) {
      const { row, file, line } = kept;
      const found = this.candidatesOf(kept, isPerModel(row.instance_id));
      if ('reason' in found) {
        // Summaries also list instances without a prediction.
        if (row.resolved !== null || !isOfSummary(kept)) homeless.push({ file, reason: found.reason });
      } else {
        const rest = { model_folder: undefined, summary: undefined, warning: undefined };
        const agreed = found.filter((candidate_id) => this.agrees({ ...row, candidate_id }, { file, line }));
        rows.push(...agreed.map((candidate_id) => ({ ...row, ...rest, file, candidate_id })));
      }
    }
    return { rows, homeless, contradictions: this.contradictions };
  }

  /**
   * Whether a label is used: of two that contradict each other, only the first, unless that is unknown; what a summary says
   * never replaces what is said of the single instance, not even that this is unknown.
   * @throws BadInputError if both are lines of one file
   */
  private agrees(row: Sealed, { file, line }: Pick<Outcome, 'file' | 'line'>): boolean {
    const { instance_id, candidate_id, resolved } = row;
    if (resolved === null && row.reason === undefined) return true;
    const key = JSON.stringify([instance_id, candidate_id]);
    const outcome = { resolved, isOfSummary: row.summary !== undefined, file, line };
    const earlier = this.outcomes.get(key);
    if (earlier === undefined || doAgree(outcome, earlier)) {
      if (earlier === undefined || (earlier.resolved === null && resolved !== null)) this.outcomes.set(key, outcome);
      return true;
    }
    this.contradictions.push({ file, reason: reasonOfContradiction(row, outcome, earlier) });
    return false;
  }

  private candidatesOf({ row, file, patch }: Apart<Row>, isPerModel: boolean): readonly string[] | Reason {
    const { instance_id, candidate_id } = row;
    const known = this.known.get(instance_id);
    if (known === undefined) return { reason: `a label of "${instance_id}", which has no candidates in the input` };
    if (patch !== null && [...known.values()].every((each) => each.patch !== null)) {
      const same = [...known].filter(([, each]) => each.patch === patch).map(([id]) => id);
      return same.length > 0 ? same : { reason: `a label of a patch that no candidate of "${instance_id}" has` };
    }
    if (row.summary !== undefined) return this.ofSummary(row, row.summary, { known, file });
    if (candidate_id === null) return this.ofModel(row, known, file, isPerModel);
    const named = known.has(candidate_id) ? [candidate_id] : namedLike(candidate_id, known);
    return named.length === 1 ? named : { reason: `a label of candidate "${candidate_id}", which is not in the input` };
  }

  private ofModel(
    { instance_id, model_folder }: Sealed,
    known: KnownById,
    file: string,
    isPerModel: boolean,
  ): readonly string[] | Reason {
    if (model_folder === undefined) return this.unnamed(instance_id, known, file);
    const named = namedLike(model_folder, known);
    if (named.length > 1) return ambiguous(instance_id, named.length);
    const own = named[0] ?? only(known, (other) => areTogether(other, file));
    if (own !== undefined) return [own];
    const model = this.returned.get(instance_id)?.model;
    const isOther = isPerModel || (HARNESS_FOLDERS.test(file) && areOfOthers(known, model_folder));
    return (model === undefined ? isOther : !isNamed(model, model_folder))
      ? { reason: `a label of model "${model_folder}", which is not in the input` }
      : this.unnamed(instance_id, known, file);
  }

  /** The harness names the summary of a run after its model. */
  private ofSummary(
    { instance_id }: Sealed,
    summary: string,
    { known, file }: { readonly known: KnownById; readonly file: string },
  ): readonly string[] | Reason {
    const named = namedInSummary(summary, known);
    if (named.length > 0)
      return this.unnamed(instance_id, new Map([...known].filter(([id]) => named.includes(id))), file);
    this.areSummariesNamed ??= this.apart.some(
      ({ row }) => namedInSummary(row.summary ?? '', this.known.get(row.instance_id) ?? NOBODY).length > 0,
    );
    return this.areSummariesNamed
      ? { reason: `a label of the run "${summary}", whose model is not in the input` }
      : this.unnamed(instance_id, known, file);
  }

  private unnamed(instanceId: string, known: KnownById, file: string): readonly string[] | Reason {
    const returned = this.returned.get(instanceId);
    if (returned?.candidate_id === null)
      return { reason: `a label of "${instanceId}", of which the run returned nothing` };
    const found =
      returned?.candidate_id ??
      only(known) ??
      only(known, (other) => areTogether(other, file) && stemOf(other) === stemOf(file)) ??
      only(known, (other) => isWithin(file, other));
    return found === undefined ? ambiguous(instanceId, known.size) : [found];
  }

  /**
   * Whether an instance's folders are named after models, so that a label may be of a model without candidates: if there are
   * several, or if any folder is named after a candidate.
   */
  private perModel(): (instanceId: string) => boolean {
    const folders = new Map<string, Set<string>>();
    let areKnown = false;
    for (const { row } of this.apart) {
      const { instance_id, model_folder: model } = row;
      if (model === undefined) continue;
      folders.set(instance_id, (folders.get(instance_id) ?? new Set()).add(model));
      areKnown ||= namedLike(model, this.known.get(instance_id) ?? NOBODY).length > 0;
    }
    return (instanceId) => areKnown || (folders.get(instanceId)?.size ?? 0) > 1;
  }
}

interface Settled<Row extends Sealed> {
  readonly rows: readonly FiledLabel<Row>[];
  /** Labels whose candidate was not found. */
  readonly homeless: readonly Homeless[];
  /** Labels that contradict others. */
  readonly contradictions: readonly Homeless[];
}

interface Apart<Row extends Sealed> {
  /** Without its patch. */
  readonly row: Row;
  readonly file: string;
  readonly line: number | undefined;
  /** Hash; null when it is not known. */
  readonly patch: string | null;
}

function ambiguous(instanceId: string, count: number): Reason {
  return { reason: `a label of "${instanceId}" that could belong to ${count} candidates` };
}

/** The harness writes `/` in a model's name as `__`. */
function isNamed(model: string, folder: string): boolean {
  return model === folder || model.replaceAll('/', '__') === folder;
}

/** Where the harness writes the reports of a model; elsewhere, the name of a folder may mean nothing. */
const HARNESS_FOLDERS = /(^|\/)run_evaluation\/[^/]+\/[^/]+\/[^/]+\/report\.json$/;

function areOfOthers(known: KnownById, folder: string): boolean {
  return [...known.values()].every(({ model }) => model !== null && !isNamed(model, folder));
}

function namedLike(folder: string, known: KnownById): readonly string[] {
  return [...known].filter(([, { names }]) => [...names].some((name) => isNamed(name, folder))).map(([id]) => id);
}

/** The candidates with the longest name that a summary's name begins with: `gpt-4.1.run1` is not a run of `gpt-4`. */
function namedInSummary(summary: string, known: KnownById): readonly string[] {
  const lengths = [...known].map(([id, { names }]) => {
    const own = [...names].map((name) => name.replaceAll('/', '__'));
    const fits = own.filter((name) => summary === name || summary.startsWith(`${name}.`));
    return [id, Math.max(0, ...fits.map((name) => name.length))] as const;
  });
  const longest = Math.max(0, ...lengths.map(([, length]) => length));
  return lengths.filter(([, length]) => length === longest && length > 0).map(([id]) => id);
}

function doAgree(outcome: Outcome, earlier: Outcome): boolean {
  const isOneUnknown = outcome.resolved === null || earlier.resolved === null;
  return outcome.resolved === earlier.resolved || (isOneUnknown && !isLessExact(outcome, earlier));
}

/** @throws BadInputError if both are lines of one file */
function reasonOfContradiction({ instance_id, candidate_id }: Sealed, outcome: Outcome, earlier: Outcome): string {
  const { file, line, resolved } = outcome;
  const isSame = file === earlier.file;
  const name = candidate_id ?? '';
  if (isSame && line !== undefined) throw contradiction(name, { file, line, field: 'resolved' }, earlier);
  return isLessExact(outcome, earlier)
    ? `candidate "${name}" of "${instance_id}" is ${said(resolved)} here, but ${said(earlier.resolved)} in its own report, which counts`
    : `a label of candidate "${name}" contradicts an earlier one${isSame ? '' : `, of ${earlier.file}`}; it is not used`;
}

function isLessExact(outcome: Outcome, earlier: Outcome): boolean {
  return outcome.isOfSummary && !earlier.isOfSummary;
}

function isOfSummary({ row }: Apart<Sealed>): boolean {
  return row.summary !== undefined;
}

function said(resolved: boolean | null): string {
  return resolved === null ? 'unknown' : resolved ? 'resolved' : 'unresolved';
}

function areTogether(file: string, other: string): boolean {
  return resolve(dirname(file)) === resolve(dirname(other));
}

/** The only candidate, or the only one with a file that fits; undefined if there are none or several. */
function only(known: KnownById, fits?: (file: string) => boolean): string | undefined {
  const [first, ...others] = [...known].filter(([, { files }]) => fits === undefined || [...files].some(fits));
  return others.length === 0 ? first?.[0] : undefined;
}
