import { returnedPatch } from '../../runs/entries.js';
import type { Candidate } from '../../core/run/candidate.js';
import { BadInputError } from '../../core/errors/errors.js';
import type { Message } from '../../ports/llm-client.js';
import {
  balanced,
  splitOf,
  type TrainingPair,
  r2eTrajectory,
  rlRows,
  exportSource,
  type ExportedInstance,
} from './export-formats.js';
import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { modelName, prediction } from '../write-run.js';
import type { Labels, LabelsByInstance } from '../label-book.js';
import { scoresOf } from '../set-files.js';

export const EXPORT_FORMATS = ['swe-bench', 'predictions', 'r2e-gym', 'scores', 'pairs', 'rl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The conversation for training a verifier; null if there is nothing to show. */
export type Converse = (issue: string, candidate: Candidate, right: boolean) => Promise<readonly Message[] | null>;

export interface ExportOptions {
  readonly folder: string;
  readonly format: ExportFormat;
  /** By instance, then by candidate; null = not given. */
  readonly labels: LabelsByInstance | null;
  /** Reference patches by instance, for the similarity reward. */
  readonly references: ReadonlyMap<string, string>;
  readonly converse: Converse;
  /** The candidates as seen by the hybrid verifier. */
  readonly entriesOf: (
    instance: Pick<ExportedInstance, 'candidates' | 'verdicts' | 'problem_statement'>,
  ) => readonly Entry[];
}

/**
 * The lines of an export, one value each.
 * @throws BadInputError for a folder without the data that the format needs
 */
export async function* exportRows(options: ExportOptions): AsyncGenerator {
  if (options.format === 'pairs') {
    yield* pairs(options);
    return;
  }
  for await (const instance of exportSource(options.folder)) yield* rowsOf(instance, options);
}

function rowsOf(instance: ExportedInstance, options: ExportOptions): readonly unknown[] {
  const { format, labels, references, entriesOf } = options;
  const { instance_id, candidates } = instance;
  const own = labels?.get(instance_id) ?? NO_LABELS;
  switch (format) {
    case 'swe-bench':
      return [selected(instance)];
    case 'predictions':
      return candidates.map(({ candidate_id: model, ...candidate }) => prediction({ ...candidate, model }));
    case 'r2e-gym':
      return candidates.map((candidate) =>
        r2eTrajectory(instance, candidate, own.get(candidate.candidate_id)?.resolved ?? null),
      );
    case 'scores':
      return [scoresOf(instance_id, entriesOf(instance), own)];
    case 'rl':
      needed(labels, format);
      return rlRows(instance, own, references.get(instance_id) ?? null);
    case 'pairs':
      return [];
  }
}

const NO_LABELS: Labels = new Map();

/** As the SWE-bench harness reads it: one prediction per instance, an empty patch if none was worth returning. */
function selected({
  instance_id,
  candidates,
  verdicts,
  selection,
  preset,
  problem_statement,
}: ExportedInstance): unknown {
  if (selection === null) {
    throw new BadInputError(
      'has no selection.',
      { field: '--run' },
      'Export all candidates with --format predictions.',
    );
  }
  const patch = returnedPatch(candidates, verdicts, { selection, statement: problem_statement }) ?? '';
  return prediction({ instance_id, model: modelName(preset), patch });
}

/** Two passes, so that only ids and labels are held in memory: first choose candidates, then make their conversations. */
async function* pairs({ folder, labels: given, converse, format }: ExportOptions): AsyncGenerator {
  const labels = needed(given, format);
  const known: Labelled[] = [];
  for await (const instance of exportSource(folder)) known.push(...labelled(instance, labels).map(({ pair }) => pair));
  const chosen = new Set(balanced(known).map(({ instance_id, candidate_id }) => `${instance_id}\n${candidate_id}`));
  for await (const instance of exportSource(folder)) {
    for (const { pair, candidate } of labelled(instance, labels)) {
      const { instance_id, candidate_id, right } = pair;
      if (!chosen.has(`${instance_id}\n${candidate_id}`)) continue;
      const messages = await converse(instance.problem_statement, candidate, right);
      if (messages !== null) yield { instance_id, candidate_id, split: splitOf(instance_id), messages };
    }
  }
}

type Labelled = Omit<TrainingPair, 'messages'>;

/** Candidates with a patch and a known label. */
function labelled(
  { instance_id, candidates }: ExportedInstance,
  labels: NonNullable<ExportOptions['labels']>,
): readonly { readonly pair: Labelled; readonly candidate: Candidate }[] {
  const own = labels.get(instance_id);
  return candidates.flatMap((candidate) => {
    const right = own?.get(candidate.candidate_id)?.resolved ?? null;
    if (right === null || candidate.patch.trim() === '') return [];
    return [{ pair: { instance_id, candidate_id: candidate.candidate_id, right }, candidate }];
  });
}

function needed(labels: ExportOptions['labels'], format: string): NonNullable<ExportOptions['labels']> {
  if (labels !== null) return labels;
  throw new BadInputError(
    `needs labels for the format ${format}.`,
    { field: '--labels' },
    'Add --labels labels.jsonl.',
  );
}
