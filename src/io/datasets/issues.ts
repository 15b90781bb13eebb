import { BadInputError } from '../../core/errors/errors.js';
import type { Issue } from '../../core/run/issue.js';
import { listed } from '../../core/visible.js';
import { readDataSet, type ReadRow } from './data-set.js';
import { imageTemplates } from './images.js';

export interface IssuesOptions {
  /** Which instances; absent = all. */
  readonly instances?: readonly string[] | undefined;
  /** Templates of images' names, see `imageTemplates`. */
  readonly image?: readonly string[] | undefined;
  readonly split?: string | undefined;
  /** Rows that give no issue are passed over. */
  readonly lenient?: boolean;
}

/**
 * The issues of a file in its order: of bestk's own form or of any known data set. Of a row only what an issue says is
 * taken: what tells the answer (gold patch, tests, hints) goes nowhere.
 * @throws BadInputError naming file, line and field of the first row that gives no issue, or an instance that is not there
 */
export async function readIssues(
  file: string,
  { instances, image = [], split, lenient = false }: IssuesOptions = {},
): Promise<readonly [Issue, ...Issue[]]> {
  const wanted = instances === undefined ? null : new Set(instances);
  const asked = (id: string | null): boolean => wanted === null || id === null || wanted.has(id);
  const issues: Issue[] = [];
  const ids = new Set<string>();
  for await (const read of readDataSet(file, { split, images: imageTemplates(image) })) {
    const id = idOf(read);
    if (id !== null) ids.add(id);
    // Problems of instances that were not asked for are not reported.
    if (!asked(id)) continue;
    if ('issue' in read) issues.push(read.issue);
    else if (!lenient) throw read.problem;
  }
  requireAll(file, wanted, ids);
  return nonEmpty(file, issues);
}

function idOf(read: ReadRow): string | null {
  return 'problem' in read ? read.instance_id : read.issue.instance_id;
}

function nonEmpty(file: string, [first, ...others]: readonly Issue[]): readonly [Issue, ...Issue[]] {
  if (first === undefined) throw new BadInputError('holds no instance.', { file });
  return [first, ...others];
}

function requireAll(file: string, wanted: ReadonlySet<string> | null, ids: ReadonlySet<string>): void {
  for (const id of wanted ?? []) {
    if (!ids.has(id)) throw new BadInputError(`holds no instance "${id}".`, { file }, `It holds: ${listed([...ids])}`);
  }
}
