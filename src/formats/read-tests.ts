import { BadInputError } from '../core/errors.js';
import { type GeneratedTest, GivenTest } from '../core/generated-test.js';
import { parseRecord, readRecords } from './records.js';
import { UniqueRecords } from './unique-records.js';

/**
 * The saved generated tests of one instance.
 * @throws BadInputError naming file, line and field; also when the instance has none
 */
export async function readTests(file: string, instanceId: string): Promise<GeneratedTest[]> {
  const tests: GeneratedTest[] = [];
  const others = new Set<string>();
  const unique = new UniqueRecords('test_id');
  for await (const record of readRecords(file)) {
    const test = parseRecord(GivenTest, record);
    if (test.instance_id !== instanceId) {
      others.add(test.instance_id);
      continue;
    }
    unique.add(test.test_id, record);
    tests.push(test);
  }
  if (tests.length === 0) {
    const known = [...others].slice(0, 5).join(', ');
    throw new BadInputError(`holds no test of instance "${instanceId}". It holds: ${known}`, { file });
  }
  return tests;
}
