import { z } from 'zod';
import { BadInputError } from '../core/errors/errors.js';
import { readPatch, type PatchFile } from '../core/patch/patch.js';
import { repositoryOf } from '../io/inputs/issue.js';
import { parseRecord, placeOf, readRecords, type Located } from '../io/records/records.js';
import { UniqueRecords } from '../io/records/records.js';

/** A list of names; SWE-bench's data sets hold it as JSON in a string. */
const Names = z.preprocess(
  (value, context) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'must be a list of names, or one as JSON in a string' });
      return z.NEVER;
    }
  },
  z.array(z.string().min(1)),
);

const Row = z.object({
  instance_id: z.string().min(1),
  repo: z.string().optional(),
  test_patch: z.string().min(1),
  FAIL_TO_PASS: Names,
  PASS_TO_PASS: Names,
});
const Named = z.object({ instance_id: z.string() });

/** The tests that decide whether a patch resolves its issue. Never within reach of what samples, verifies or selects. */
export interface HiddenTests {
  /** `owner/name`, from the row or from the instance's id; null when neither says it. */
  readonly repo: string | null;
  readonly testPatch: string;
  readonly files: readonly PatchFile[];
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
}

/**
 * Reads the hidden tests of one instance; of a SWE-bench row the gold patch and all else go unread.
 * @throws BadInputError naming file, line and field; also when the instance has none
 */
export async function readHiddenTests(file: string, instanceId: string): Promise<HiddenTests> {
  const unique = new UniqueRecords('instance_id');
  let wanted: Located | null = null;
  for await (const record of readRecords(file)) {
    if (parseRecord(Named, record).instance_id !== instanceId) continue;
    unique.add(instanceId, record);
    wanted = record;
  }
  if (wanted === null) throw new BadInputError(`holds no hidden tests of instance "${instanceId}".`, { file });
  return asHiddenTests(wanted);
}

function asHiddenTests(record: Located): HiddenTests {
  const row = parseRecord(Row, record);
  const patch = readPatch(row.test_patch);
  if (patch.kind !== 'ok') {
    const detail = patch.kind === 'empty' ? 'is empty' : `cannot be read: ${patch.detail}`;
    throw new BadInputError(detail, placeOf(record, 'test_patch'));
  }
  const { FAIL_TO_PASS: failToPass, PASS_TO_PASS: passToPass } = row;
  if (failToPass.length + passToPass.length === 0) {
    throw new BadInputError('names no test, which every patch would pass.', placeOf(record, 'FAIL_TO_PASS'));
  }
  const repo = row.repo ?? repositoryOf(row.instance_id);
  return { repo, testPatch: row.test_patch, files: patch.files, failToPass, passToPass };
}
