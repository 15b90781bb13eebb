import { z } from 'zod';
import { asSmallJson, listOf } from '../../../src/core/json.js';
import { documentAt } from './json-log.js';
import type { TestLog } from './test-log.js';

const Titled = listOf(z.object({ fullTitle: z.string() }));
const Mocha = z.object({ passes: Titled, failures: Titled, pending: Titled.optional() });
const Assertion = z.object({ fullName: z.string(), title: z.string().optional(), status: z.string() });
const Jest = z.object({ testResults: listOf(z.object({ name: z.string(), assertionResults: listOf(Assertion) })) });
const DOCUMENT_BEGINS = /\{\s{0,20}"(?:stats|numFailedTestSuites|numFailedTests)"/g;
const MOST_DOCUMENTS = 100;
const MOST_VALUES = 4_000_000;

/** Documents of `mocha --reporter json` and `jest --json`. */
export function noteJavaScriptDocuments(tests: TestLog, log: string): void {
  DOCUMENT_BEGINS.lastIndex = 0;
  let documents = 0;
  for (let begin = DOCUMENT_BEGINS.exec(log); begin !== null; begin = DOCUMENT_BEGINS.exec(log)) {
    documents += 1;
    if (documents > MOST_DOCUMENTS) return;
    const text = documentAt(log, begin.index);
    DOCUMENT_BEGINS.lastIndex = begin.index + text.length;
    noteDocument(tests, asSmallJson(text, MOST_VALUES));
  }
}

function noteDocument(tests: TestLog, document: unknown): void {
  const mocha = Mocha.safeParse(document).data;
  if (mocha !== undefined) noteMocha(tests, mocha);
  for (const { name, assertionResults } of Jest.safeParse(document).data?.testResults ?? []) {
    for (const result of assertionResults) noteAssertion(tests, name, result);
  }
}

function noteMocha(tests: TestLog, { failures, pending = [], passes }: z.infer<typeof Mocha>): void {
  for (const { fullTitle } of failures) tests.note(fullTitle, 'failed');
  for (const { fullTitle } of pending) tests.note(fullTitle, 'skipped');
  for (const { fullTitle } of passes) tests.note(fullTitle, 'passed');
}

function noteAssertion(tests: TestLog, file: string, { fullName, title, status }: z.infer<typeof Assertion>): void {
  const result = status === 'passed' || status === 'failed' ? status : 'skipped';
  const own = title ?? fullName;
  tests.note(fullName, result, [own, `${file} > ${fullName}`, `${file}:${own}`]);
}
