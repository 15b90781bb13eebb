import { StatusByTest, type TestReport, type TestStatus } from './test-status.js';

const LINE = /^( *)(not )?ok\b(?: +\d+)?(?: +- +| +)?(.*)$/;
const PLAN = /^1\.\.(\d+)/;
const DIRECTIVE = /\s+#\s*(skip|todo)\b.*$/i;

interface Result {
  /** Blanks before it. */
  readonly depth: number;
  readonly name: string;
  readonly status: TestStatus;
}

/**
 * TAP 12 to 14, as `node --test` prints it. Subtests are indented and go by the names of those around them. Without its plan,
 * or with fewer results than it names, the run was cut off and nothing of it counts.
 */
export function tapReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  const lines = stdout.split('\n');
  const results = lines.flatMap(resultOf);
  const plans = lines.flatMap((line) => PLAN.exec(line)?.[1] ?? []);
  const planned = plans.reduce((sum, plan) => sum + Number(plan), 0);
  if (plans.length === 0 || results.filter(({ depth }) => depth === 0).length < planned) return tests.all;
  for (const [index, { name, status }] of results.entries()) {
    tests.note([...parents(results, index), name].join(' > '), status);
  }
  return tests.all;
}

function resultOf(line: string): readonly Result[] {
  const found = LINE.exec(line);
  if (found === null) return [];
  const [, indent = '', not, rest = ''] = found;
  const status = DIRECTIVE.test(rest) ? 'skipped' : not === undefined ? 'passed' : 'failed';
  return [{ depth: indent.length, name: rest.replace(DIRECTIVE, '').trim(), status }];
}

/** A subtest's parent ends behind it, one level further out. */
function parents(results: readonly Result[], from: number): readonly string[] {
  const names: string[] = [];
  let level = results[from]?.depth ?? 0;
  for (let index = from + 1; index < results.length && level > 0; index += 1) {
    const other = results[index];
    if (other === undefined || other.depth >= level) continue;
    names.unshift(other.name);
    level = other.depth;
  }
  return names;
}
