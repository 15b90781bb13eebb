import { join } from 'node:path';
import { BadInputError } from '../core/errors/errors.js';
import { type PatchFile, readPatch } from '../core/patch/patch.js';
import { readSealed } from '../io/datasets/data-set.js';
import type { HiddenRow, SealedContent } from '../io/datasets/set-reader.js';
import { placeOf, readText } from '../io/records/records.js';

/**
 * The tests that decide whether a patch resolves its issue. Never accessible to code that samples, verifies or selects.
 */
export interface HiddenTests extends HiddenRow {
  /** Files of the test patch; empty when the tests are part of the image. */
  readonly files: readonly PatchFile[];
  /** The authors' patch; null when the row has none. */
  readonly gold: string | null;
  /** SWE-bench Pro's scripts for the instance, by name. */
  readonly scripts?: Readonly<Record<string, string>>;
}

function hiddenTestsOf(row: HiddenRow, gold: string | null): HiddenTests {
  if (row.testPatch === null) {
    if (row.command !== null) return { ...row, gold, files: [] };
    throw new BadInputError('is missing.', { field: 'test_patch' });
  }
  const patch = readPatch(row.testPatch);
  if (patch.kind === 'ok') return { ...row, gold, testPatch: patch.text, files: patch.files };
  const detail = patch.kind === 'empty' ? 'is empty' : `cannot be read: ${patch.detail}`;
  throw new BadInputError(detail, { field: 'test_patch' });
}

/** The answers in a file, by instance. */
export type SealedRows = ReadonlyMap<string, SealedContent>;

/**
 * Reads the answers of instances from rows of any known data set, including rows without a problem statement.
 * @param wanted ids of instances; others are skipped
 * @param reject receives answers that cannot be used; absent = they are thrown
 * @throws BadInputError naming file, line and field; also for an instance that occurs twice
 */
export async function readAnswers(
  file: string,
  wanted: ReadonlySet<string>,
  reject?: (instanceId: string, error: BadInputError) => void,
): Promise<SealedRows> {
  const found = new Map<string, SealedContent>();
  for await (const { instance_id, sealed, row } of readSealed(file)) {
    if (!wanted.has(instance_id)) continue;
    if (found.has(instance_id)) {
      throw new BadInputError(`"${instance_id}" occurs earlier in the file.`, placeOf(row, 'instance_id'));
    }
    try {
      const content = sealed.open();
      // Validated here, while the location is known for messages.
      inPlace(content, (field) => placeOf(row, field));
      found.set(instance_id, content);
    } catch (error) {
      if (reject === undefined || !(error instanceof BadInputError)) throw error;
      reject(instance_id, error);
    }
  }
  return found;
}

function inPlace({ tests, gold }: SealedContent, place: (field: string) => BadInputError['place']): void {
  if (tests === null) return;
  try {
    hiddenTestsOf(tests, gold);
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    const { field = '' } = error.place;
    throw new BadInputError(error.message.replace(/^field "[^"]*": /, ''), place(field), error.next);
  }
}

/**
 * The hidden tests of one instance; null when there are none.
 * @param scripts folder of SWE-bench Pro's run scripts; absent = the rows' own commands
 * @throws BadInputError as {@link readAnswers}, or when the folder has no scripts for the instance
 */
export async function hiddenTests(answers: SealedRows, id: string, scripts?: string): Promise<HiddenTests | null> {
  const { tests: row = null, gold = null } = answers.get(id) ?? {};
  if (row === null) return null;
  const tests = hiddenTestsOf(row, gold);
  return scripts === undefined ? tests : withScripts(tests, scripts, id);
}

const SCRIPTS = ['run_script.sh', 'parser.py'];

async function withScripts(tests: HiddenTests, folder: string, instanceId: string): Promise<HiddenTests> {
  const scripts = SCRIPTS.map(async (name) => [name, await readText(join(folder, instanceId, name))] as const);
  return { ...tests, scripts: Object.fromEntries(await Promise.all(scripts)) };
}
