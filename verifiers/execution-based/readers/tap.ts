import { linesOf, MOST_TESTS, StatusByTest, type TestReport, type TestStatus, TooMuchError } from './test-status.js';

/** A test point up to its number; what follows is its name. */
const POINT = /^( *)(not )?ok(?!\w)(?: +\d+)?/;
const PLAN = /^1\.\.(\d+)/;
const DIRECTIVE = /(?<=\s)#\s*(?:skip|todo)\b/i;

interface Result {
  /** Blanks before it. */
  readonly depth: number;
  readonly name: string;
  readonly status: TestStatus;
}

/**
 * TAP 12 to 14, as `node --test` prints it. Subtests are indented and go by the names of those around them. Without its plan,
 * or with fewer results than it names, the run was cut off and nothing of it counts.
 * @throws TooMuchError
 */
export function tapReport(stdout: string): TestReport {
  const results: Result[] = [];
  let [planned, outermost] = [-1, 0];
  for (const line of linesOf(stdout)) {
    const result = resultOf(line);
    if (result !== null) {
      if (results.length === MOST_TESTS) throw new TooMuchError();
      results.push(result);
      outermost += Number(result.depth === 0);
    }
    const plan = PLAN.exec(line)?.[1];
    if (plan !== undefined) planned = Math.max(planned, 0) + Number(plan);
  }
  const isWhole = planned !== -1 && outermost >= planned;
  return isWhole ? statusesOf(results) : new Map();
}

function resultOf(line: string): Result | null {
  const [point = null, indent = '', not] = POINT.exec(line) ?? [];
  if (point === null) return null;
  const said = line.slice(point.length);
  const directive = DIRECTIVE.exec(said);
  const name = (directive === null ? said : said.slice(0, directive.index)).trim();
  const status = directive !== null ? 'skipped' : not === undefined ? 'passed' : 'failed';
  return { depth: indent.length, name: said.startsWith(' ') ? name.replace(/^- +/, '') : name, status };
}

/** From the last to the first: a subtest's parent ends behind it, one level further out. */
function statusesOf(results: readonly Result[]): TestReport {
  const tests = new StatusByTest();
  const around: { readonly depth: number; readonly path: string }[] = [];
  for (const { depth, name, status } of results.toReversed()) {
    while ((around.at(-1)?.depth ?? -1) >= depth) around.pop();
    const parent = around.at(-1);
    const path = parent === undefined ? name : `${parent.path} > ${name}`;
    around.push({ depth, path });
    tests.note(path, status);
  }
  return tests.all;
}
