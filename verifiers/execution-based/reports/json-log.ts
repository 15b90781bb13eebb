import { z } from 'zod';
import { asSmallJson, listOf } from '../../../src/core/json.js';
import { statusOfWord } from './log-lines.js';
import { TestLog } from './test-log.js';

const Results = z.object({ tests: listOf(z.object({ name: z.string(), status: z.string() })) });
const KEY = '"tests"';
/** Documents that are tried, from the last one: a log has one. */
const MOST_TRIES = 10;
const MOST_VALUES = 4_000_000;

/**
 * Parses the output of SWE-bench Pro's own parsers, `{"tests": [{"name", "status"}]}`, from the last such document; lines of
 * other programs may follow it.
 * @throws TooMuchError
 */
export function parseJsonLog(log: string): TestLog {
  const tests = new TestLog();
  let before = log.length;
  for (let tries = 0; tries < MOST_TRIES && before > 0; tries += 1) {
    before = log.lastIndexOf(KEY, before - 1);
    const results = before === -1 ? undefined : resultsAround(log, before);
    for (const { name, status } of results ?? []) tests.note(name, statusOfWord(status) ?? 'failed');
    if (results !== undefined) break;
  }
  return tests;
}

function resultsAround(log: string, key: number): z.infer<typeof Results>['tests'] | undefined {
  const begin = log.slice(0, key).trimEnd().length - 1;
  if (log[begin] !== '{') return undefined;
  return Results.safeParse(asSmallJson(documentAt(log, begin), MOST_VALUES)).data?.tests;
}

/** The text from an opening bracket to its closing one. */
export function documentAt(text: string, begin: number): string {
  const token = /["{}[\]]/g;
  token.lastIndex = begin;
  let depth = 0;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    if (found[0] === '"') token.lastIndex = endOfString(text, found.index);
    else depth += found[0] === '{' || found[0] === '[' ? 1 : -1;
    if (depth === 0) return text.slice(begin, token.lastIndex);
  }
  return text.slice(begin);
}

/** The offset behind the closing quotation mark. */
function endOfString(text: string, start: number): number {
  const token = /["\\]/g;
  token.lastIndex = start + 1;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    if (found[0] === '"') return token.lastIndex;
    token.lastIndex += 1;
  }
  return text.length;
}
