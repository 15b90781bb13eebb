import { BadInputError } from '../../core/errors/errors.js';
import {
  type LabelledEntry,
  type MaybeLabelled,
  type ScoredIssue,
  splitByLabel,
} from '../../statistics/curves/scored-issue.js';
import { readRecords, type Located } from '../records/records.js';
import { MeasureName, measureNamed } from '../../core/run/verdict.js';
import { repositoryOf } from '../../core/run/issue.js';
import { ScoreColumns } from './score-columns.js';

/** Names of a column: bestk's first, then R2E-Gym's. */
const ALIASES = {
  instance: ['instance_id', 'docker_images', 'docker_image'],
  resolved: ['resolved', 'gt_rewards'],
  execution_free: ['execution_free', 'avg_yes_prob'],
  regression: ['regression', 'regression_rates'],
  reproduction: ['reproduction', 'mean_predicted_rewards'],
  ids: ['candidate_ids'],
  fingerprint: ['fingerprint', 'fingerprints'],
} as const;

const ANY = { least: -Number.MAX_VALUE, most: Number.MAX_VALUE };
const COUNT = { least: 0, most: Number.MAX_VALUE };
const PROBABILITY = { least: 0, most: 1 };

/**
 * The issues of a score matrix, streamed one at a time.
 * @param axes further numeric columns to read; a row may lack them
 * @throws BadInputError naming file, line and field
 */
export async function* readScoreMatrix(file: string, axes: readonly string[] = []): AsyncGenerator<ScoredIssue> {
  const seen = new Set<string>();
  for await (const record of readRecords(file)) {
    const issue = issueOf(record, axes);
    if (seen.has(issue.instanceId)) {
      throw new BadInputError(`"${issue.instanceId}" occurs earlier in the file.`, {
        file,
        line: record.line,
        field: 'instance_id',
      });
    }
    seen.add(issue.instanceId);
    yield issue;
  }
}

function issueOf({ value, file, line }: Located, axes: readonly string[]): ScoredIssue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadInputError('is not an object with the scores of one issue.', { file, line });
  }
  const columns = new ScoreColumns(value as Record<string, unknown>, { file, line });
  const instanceId = columns.text(ALIASES.instance);
  if (instanceId === undefined) throw columns.error('is missing', 'instance_id');
  const resolved = columns.labels(ALIASES.resolved);
  if (resolved === undefined) throw columns.error('is missing', 'resolved');
  const repo = columns.text(['repo']) ?? repositoryOf(instanceId) ?? instanceId;
  return { instanceId, repo, ...splitByLabel(candidatesOf(columns, resolved, axes)) };
}

function candidatesOf(
  columns: ScoreColumns,
  resolved: readonly (boolean | null)[],
  axes: readonly string[],
): readonly MaybeLabelled[] {
  const reader = new RowReader(columns, resolved.length);
  const facts = reader.facts();
  const cost = reader.numbers(['cost'], COUNT);
  const reasons = reader.texts(['label_reasons']);
  const further = axes.map((axis) => [axis, reader.numbers([axis])] as const);
  return reader.ids().map((id, index) => ({
    entry: entryAt(facts, id, index),
    resolved: resolved[index] ?? null,
    reason: at(reasons, index),
    cost: at(cost, index),
    axes: Object.fromEntries(further.map(([axis, values]) => [axis, at(values, index)])),
  }));
}

type Entry = LabelledEntry['entry'];
type Column<T> = readonly (T | null)[] | undefined;
type Facts = ReturnType<RowReader['facts']>;

/** A row's columns, each with one value per label. */
class RowReader {
  constructor(
    private readonly columns: ScoreColumns,
    private readonly n: number,
  ) {}

  numbers(names: readonly string[], range = ANY): Column<number> {
    return this.checked(names, this.columns.numbers(names, range));
  }

  facts() {
    const regression = this.numbers(ALIASES.regression);
    const reproduction = this.numbers(ALIASES.reproduction);
    return {
      execution_free: this.numbers(ALIASES.execution_free, PROBABILITY),
      regression,
      reproduction,
      patch_size: this.numbers(['patch_size'], COUNT),
      fingerprint: this.texts(ALIASES.fingerprint),
      change: this.texts(['change']),
      syntax: this.texts(['syntax']),
      has_source_change: this.flags('has_source_change'),
      applies: this.flags('applies'),
      finished: this.flags('finished') ?? this.texts(['exit_reason'])?.map(isSubmitted),
      regression_out_of: this.totals('regression_out_of') ?? bestSeen(regression),
      reproduction_out_of: this.totals('reproduction_out_of') ?? bestSeen(reproduction),
      steps: this.numbers(['steps'], COUNT),
      behaviour: this.texts(['behaviour']),
      solved: this.checked(['solved'], this.columns.textLists(['solved'])),
      learned: this.numbers(['learned'], PROBABILITY),
      measures: this.measures(),
    };
  }

  /** `"measures": {"ef:agent@model": [0.4, null, …]}` */
  private measures(): readonly (readonly [string, Column<number>])[] {
    const reader = new RowReader(this.columns.under('measures'), this.n);
    return reader.columns.names.map((name) => {
      const named = MeasureName.safeParse(name);
      if (!named.success) throw reader.columns.error(named.error.issues[0]?.message ?? 'is no measure', name);
      return [name, reader.numbers([name], measureNamed(name).unit === 'probability' ? PROBABILITY : COUNT)];
    });
  }

  /** Positions if the row gives no ids. */
  ids(): readonly string[] {
    const given = this.texts(ALIASES.ids) ?? Array.from({ length: this.n }, (_, index) => String(index));
    const seen = new Set<string>();
    return given.map((id, index) => {
      const field = `candidate_ids.${index}`;
      if (id === null || id === '') throw this.columns.error('is empty', field);
      if (seen.has(id)) throw this.columns.error(`"${id}" occurs earlier in the row`, field);
      seen.add(id);
      return id;
    });
  }

  texts(names: readonly string[]): Column<string> {
    return this.checked(names, this.columns.texts(names));
  }

  private flags(name: string): Column<boolean> {
    return this.checked([name], this.columns.labels([name]));
  }

  private totals(name: string): Column<number> {
    return this.checked([name], this.columns.shared(name, this.n));
  }

  private checked<T>(names: readonly string[], list: Column<T>): Column<T> {
    if (list === undefined || list.length === this.n) return list;
    throw this.columns.error(`has ${list.length} values for ${this.n} labels`, this.columns.nameOf(names) ?? '');
  }
}

function entryAt(facts: Facts, id: string, index: number): Entry {
  const size = at(facts.patch_size, index);
  return {
    id,
    execution_free: at(facts.execution_free, index),
    regression: at(facts.regression, index),
    reproduction: at(facts.reproduction, index),
    patch_size: size,
    fingerprint: at(facts.fingerprint, index),
    change: at(facts.change, index),
    syntax: at(facts.syntax, index),
    has_source_change: at(facts.has_source_change, index) ?? size !== 0,
    applies: at(facts.applies, index),
    finished: at(facts.finished, index),
    regression_out_of: at(facts.regression_out_of, index),
    reproduction_out_of: at(facts.reproduction_out_of, index),
    steps: at(facts.steps, index),
    behaviour: at(facts.behaviour, index) ?? behaviourOf(at(facts.solved, index)),
    solved: at(facts.solved, index)?.slice() ?? null,
    learned: at(facts.learned, index),
    ...(facts.measures.length === 0
      ? {}
      : { measures: Object.fromEntries(facts.measures.map(([name, column]) => [name, at(column, index)])) }),
  };
}

/** Equal for candidates that solved the same tests, as in bestk's own runs. */
function behaviourOf(solved: readonly string[] | null): string | null {
  return solved === null ? null : JSON.stringify([...solved].sort());
}

function at<T>(values: Column<T>, index: number): T | null {
  return values?.[index] ?? null;
}

/** The maximum of a count if the row does not give it: the highest count among the issue's candidates. */
function bestSeen(counts: Column<number>): Column<number> {
  const most = counts?.reduce<number>((best, count) => Math.max(best, count ?? 0), 0) ?? 0;
  return most > 0 ? counts?.map(() => most) : undefined;
}

function isSubmitted(reason: string | null): boolean | null {
  return reason === null ? null : ['agent', 'submitted', 'finished'].includes(reason.toLowerCase());
}
