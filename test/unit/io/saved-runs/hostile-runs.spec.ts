import { RUN_READERS } from '../../../../src/io/saved-runs/import-runs.js';
import type { SavedRecord } from '../../../../src/io/saved-runs/saved-run.js';
import { expectLinear, type LinearCase, LINEAR_MS } from '../../../fixtures/linear-time.js';
import { FIXTURES } from './saved-fixtures.js';

/** Words that say what a message is: with others, nothing of it would be read. */
const KINDS = new Set(['user', 'assistant', 'agent', 'system', 'run', 'finish']);

/** Every text in a saved run of each format is the hostile one, but for those by which the format is known. */
function savedRuns(): readonly LinearCase[] {
  return Object.entries(FIXTURES).map(([format, { file, content }]): LinearCase => {
    const reader = RUN_READERS.find((each) => each.recognises(content as SavedRecord['value'], record(content, file)));
    const isRead = (value: unknown): boolean => {
      try {
        return reader?.read(record(value, file)).runs.length !== -1;
      } catch {
        return false;
      }
    };
    const free = texts(content).filter((path) => isRead(replaced(content, [path], 'x y')));
    const read = (text: string): unknown => reader?.read(record(replaced(content, free, text), file));
    expect({ format, free: free.length > 0 }).toEqual({ format, free: true });
    return [
      format,
      read,
      ['<pr_description>', '</pr_description>', '```bash\n', '\n```', 'create', '{"', '"}', '__', '-', '1e', '\n'],
    ];
  });
}

function record(value: unknown, file: string): SavedRecord {
  return { value: value as SavedRecord['value'], file };
}

/** Where the texts of a value are, by the keys that lead there. */
function texts(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return KINDS.has(value) ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => texts(member, `${path}/${key}`));
}

function replaced(value: unknown, paths: readonly string[], text: string, path = ''): unknown {
  if (typeof value === 'string') return paths.includes(path) ? text : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(
    ([key, member]) => [key, replaced(member, paths, text, `${path}/${key}`)] as const,
  );
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members);
}

describe('hostile saved runs are read in linear time:', () => {
  it.each(savedRuns())(
    '%s',
    (_format, read, words) => {
      expectLinear(read, words);
    },
    LINEAR_MS,
  );
});
