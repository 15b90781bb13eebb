import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { Environment, Issue } from '../../core/run/issue.js';
import { type Located, parseRecord, placeOf, readRecords, UniqueRecords } from '../records/records.js';

const Row = z.object({
  instance_id: Issue.shape.instance_id,
  problem_statement: z.string(),
  environment: z.json().optional(),
});
const NAMED = 5;

export interface IssueOptions {
  /** Which instance, where the file holds several. */
  readonly instanceId?: string | undefined;
  /** Image of the instance, where the row names none; wins over the row's. */
  readonly image?: string | undefined;
}

/**
 * Reads one issue: bestk's own form, or a SWE-bench row with `image`. Of a row only the id and the statement are taken:
 * what tells the answer (gold patch, tests, hints) goes nowhere.
 * @throws BadInputError naming file, line and field
 */
export async function readIssue(file: string, { instanceId, image }: IssueOptions = {}): Promise<Issue> {
  const ids: string[] = [];
  const unique = new UniqueRecords('instance_id');
  let wanted: Located | null = null;
  for await (const record of readRecords(file)) {
    const { instance_id } = parseRecord(Row, record);
    ids.push(instance_id);
    if (instanceId !== undefined && instance_id !== instanceId) continue;
    unique.add(instance_id, record);
    wanted ??= record;
  }
  if (instanceId === undefined && ids.length > 1) {
    throw new BadInputError(`holds ${ids.length} instances.`, { file }, `Choose one with --instance: ${some(ids)}`);
  }
  if (wanted === null) {
    throw new BadInputError(`holds no instance "${instanceId ?? ''}".`, { file }, `It holds: ${some(ids)}`);
  }
  return asIssue(wanted, image);
}

function asIssue(record: Located, image: string | undefined): Issue {
  const { instance_id, problem_statement, environment } = parseRecord(Row, record);
  const given =
    typeof environment === 'object' && environment !== null && !Array.isArray(environment) ? environment : {};
  if (environment !== undefined && given !== environment) {
    throw new BadInputError('must be an object', placeOf(record, 'environment'));
  }
  const named = image === undefined ? given : { ...given, image };
  if (!('image' in named)) {
    throw new BadInputError(
      'is missing',
      placeOf(record, 'environment.image'),
      'Name the container image of the instance in the issue, or pass --image.',
    );
  }
  return {
    instance_id,
    problem_statement,
    environment: parseRecord(Environment, { ...record, value: named }, 'environment'),
  };
}

function some(ids: readonly string[]): string {
  return `${ids.slice(0, NAMED).join(', ')}${ids.length > NAMED ? `, and ${ids.length - NAMED} more` : ''}`;
}

/** `sympy__sympy-24066` is of `sympy/sympy`; null for an id of another shape. */
export function repositoryOf(instanceId: string): string | null {
  const match = /^(.+?)__(.+)-[^-]+$/.exec(instanceId);
  return match === null ? null : `${match[1] ?? ''}/${match[2] ?? ''}`;
}
