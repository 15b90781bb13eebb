import { SaxesParser } from 'saxes';
import { StatusByTest, type TestReport, TooMuchError } from './test-status.js';

/** Suites in suites; a test case is at its own level. */
const DEEPEST = 20;
const MOST_ELEMENTS = 2_000_000;
const SUITES: ReadonlySet<string> = new Set(['testsuites', 'testsuite']);

interface Case {
  readonly test: string;
  failed: boolean;
  skipped: boolean;
}

/**
 * JUnit's XML as pytest, Maven, jest-junit and others write it; empty unless the whole is well-formed. A document type, which
 * could define entities that grow, is in no report.
 * @throws TooMuchError
 */
export function junitReport(xml: string): TestReport {
  const reader = new CaseReader();
  const parser = new SaxesParser({ position: false, xmlns: false } as const);
  parser.on('error', fail);
  parser.on('doctype', fail);
  parser.on('opentag', ({ name, attributes }) => {
    reader.open(name, attributes);
  });
  parser.on('closetag', () => {
    reader.close();
  });
  try {
    parser.write(xml).close();
    return reader.tests.all;
  } catch (error) {
    if (error instanceof NoReportError) return new Map();
    throw error;
  }
}

class NoReportError extends Error {}

function fail(): never {
  throw new NoReportError();
}

class CaseReader {
  readonly tests = new StatusByTest();
  /** Names of the elements that are open. */
  private readonly around: string[] = [];
  private elements = 0;
  private current: Case | null = null;

  open(name: string, { classname = '', name: own = '' }: Readonly<Record<string, string>>): void {
    this.elements += 1;
    if (this.around.length > DEEPEST || this.elements > MOST_ELEMENTS) throw new TooMuchError();
    const parent = this.around.at(-1);
    if (parent === 'testcase') this.note(name);
    else if (name === 'testcase' && this.around.every((each) => SUITES.has(each)) && own !== '') {
      this.current = { test: classname === '' ? own : `${classname}::${own}`, failed: false, skipped: false };
    }
    this.around.push(name);
  }

  close(): void {
    const name = this.around.pop();
    if (name !== 'testcase' || this.current === null) return;
    const { test, failed, skipped } = this.current;
    this.tests.note(test, failed ? 'failed' : skipped ? 'skipped' : 'passed');
    this.current = null;
  }

  private note(name: string): void {
    if (this.current === null) return;
    if (name === 'failure' || name === 'error') this.current.failed = true;
    if (name === 'skipped') this.current.skipped = true;
  }
}
