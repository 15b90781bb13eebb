import { withoutDuration } from './durations.js';
import { firstGroup, markedTest, printedLines } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

/** `Calc (Tests\Calc)`, or the name alone, above its tests. */
const SUITE = /^(\w[^()]*?)(?: \(.+\))?$/;
const PEST_SUITE = /^\s*(?:PASS|FAIL|FAILED|WARN) +(\S+)$/;
const PEST_FAILURE = /^\s*x +(\S.*)$/i;
const PEST_SKIPPED = /^ *- +(\S.*)$/;

/** Parses PHPUnit's `--testdox` and Pest. A test is known by its title, and by its class and title. @throws TooMuchError */
export function parsePhpLog(log: string): TestLog {
  const tests = new TestLog();
  const suites = new PhpSuites();
  for (const line of printedLines(log)) {
    const found = markedTest(line) ?? unmarkedTest(line);
    if (found === null) suites.line(line, tests);
    else {
      const title = withoutDuration(found[0]).trim();
      tests.note(suites.nearest === null ? title : `${suites.nearest} > ${title}`, found[1], [
        title,
        `${suites.namespaced} > ${title}`,
      ]);
    }
  }
  return tests;
}

class PhpSuites {
  nearest: string | null = null;
  /** SWE-bench's parser reads only classes with their namespace, and calls the class None before the first one. */
  namespaced = 'None';

  line(line: string, tests: TestLog): void {
    const pest = firstGroup(PEST_SUITE, line);
    if (pest !== undefined && /^\s*FAIL/.test(line)) tests.noteOther(pest, 'failed');
    const suite = pest ?? firstGroup(SUITE, line);
    if (suite !== undefined && line.startsWith(`${suite} (`)) this.namespaced = suite;
    this.nearest = suite ?? this.nearest;
  }
}

function unmarkedTest(line: string): readonly [name: string, status: LoggedStatus] | null {
  const failed = PEST_FAILURE.exec(line)?.[1];
  if (failed !== undefined) return [failed, 'failed'];
  const skipped = PEST_SKIPPED.exec(line)?.[1];
  return skipped === undefined ? null : [skipped, 'skipped'];
}
