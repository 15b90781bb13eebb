import { XMLParser } from 'fast-xml-parser';
import { StatusByTest, type TestReport } from './test-status.js';

/** Entities stay as they are written, so that none can be defined that grows. */
const PARSER = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  processEntities: false,
  parseTagValue: false,
  parseAttributeValue: false,
  isArray: (name) => name === 'testcase' || name === 'testsuite',
});
const DEEPEST = 20;

/** JUnit's XML as pytest, Maven, jest-junit and others write it; empty unless the whole is well-formed. */
export function junitReport(xml: string): TestReport {
  const tests = new StatusByTest();
  const root = /<!DOCTYPE/i.test(xml) ? null : wellFormed(xml);
  for (const testcase of casesIn(root, 0)) noteCase(testcase, tests);
  return tests.all;
}

function wellFormed(xml: string): unknown {
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- its successor is another package, and this one is pinned
    return PARSER.parse(xml, true);
  } catch {
    return null;
  }
}

type Node = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

function casesIn(node: unknown, depth: number): readonly Node[] {
  if (!isNode(node) || depth > DEEPEST) return [];
  const children = (name: string): readonly unknown[] => [node[name]].flat();
  const suites = [...children('testsuites'), ...children('testsuite')];
  return [...children('testcase').filter(isNode), ...suites.flatMap((suite) => casesIn(suite, depth + 1))];
}

function noteCase(node: Node, tests: StatusByTest): void {
  const { '@classname': group, '@name': name } = node;
  if (typeof name !== 'string' || name === '') return;
  const test = typeof group === 'string' && group !== '' ? `${group}::${name}` : name;
  const failed = 'failure' in node || 'error' in node;
  tests.note(test, failed ? 'failed' : 'skipped' in node ? 'skipped' : 'passed');
}
