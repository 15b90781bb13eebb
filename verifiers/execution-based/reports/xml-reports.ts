import { SaxesParser } from 'saxes';
import { isWorse, type LoggedStatus, TooMuchError } from './test-log.js';

/** Maximum nesting of suites; a test case is one level deeper. */
const DEEPEST = 20;
const MOST_ELEMENTS = 2_000_000;
const MOST_DOCUMENTS = 20_000;
const SUITES: ReadonlySet<string> = new Set(['testsuites', 'testsuite']);

type Attributes = Readonly<Record<string, string>>;

/** Follows the elements of a document. */
interface ElementReader {
  open(name: string, attributes: Attributes): void;
  close(): void;
}

class NoReportError extends Error {}

function fail(): never {
  throw new NoReportError();
}

/** A document type, which could define expanding entities, is an error. */
function parserFor(reader: ElementReader): SaxesParser {
  const parser = new SaxesParser({ position: false, xmlns: false } as const);
  parser.on('error', fail);
  parser.on('doctype', fail);
  parser.on('opentag', ({ name, attributes }) => {
    reader.open(name, attributes);
  });
  parser.on('closetag', () => {
    reader.close();
  });
  return parser;
}

/** @returns whether the text is one well-formed document. @throws TooMuchError */
function readDocument(xml: string, reader: ElementReader): boolean {
  try {
    parserFor(reader).write(xml).close();
    return true;
  } catch (error) {
    if (error instanceof NoReportError) return false;
    throw error;
  }
}

export interface TestCase {
  readonly classname: string;
  readonly name: string;
  status: LoggedStatus;
}

const CASE_STATUS: Readonly<Record<string, LoggedStatus>> = { failure: 'failed', error: 'error', skipped: 'skipped' };

/** Cases of JUnit's format, as pytest, Maven, Gradle, sbt, testthat and others write it. */
class CaseReader implements ElementReader {
  readonly cases: TestCase[] = [];
  /** Names of the open elements. */
  private readonly around: string[] = [];
  private elements = 0;
  private current: TestCase | null = null;

  get isClosed(): boolean {
    return this.elements > 0 && this.around.length === 0;
  }

  open(name: string, { classname = '', name: own = '' }: Attributes): void {
    this.elements += 1;
    if (this.around.length > DEEPEST || this.elements > MOST_ELEMENTS) throw new TooMuchError();
    const parent = this.around.at(-1);
    if (parent === 'testcase') this.worsen(CASE_STATUS[name]);
    else if (name === 'testcase' && this.around.every((each) => SUITES.has(each)) && own !== '') {
      this.current = { classname, name: own, status: 'passed' };
    }
    this.around.push(name);
  }

  close(): void {
    if (this.around.pop() !== 'testcase' || this.current === null) return;
    this.cases.push(this.current);
    this.current = null;
  }

  private worsen(status: LoggedStatus | undefined): void {
    if (this.current === null || status === undefined) return;
    if (isWorse(status, this.current.status)) this.current.status = status;
  }
}

/** The cases of a report in JUnit's format; none unless it is well-formed. @throws TooMuchError */
export function readJunitReport(xml: string): readonly TestCase[] {
  const reader = new CaseReader();
  return readDocument(xml, reader) ? reader.cases : [];
}

const JUNIT_BEGINS = /<testsuites?[\s>]/g;

/** The cases of all well-formed reports among the other lines of a log. @throws TooMuchError */
export function readJunitReportsIn(log: string): readonly TestCase[] {
  const found: TestCase[][] = [];
  let documents = 0;
  JUNIT_BEGINS.lastIndex = 0;
  for (let begin = JUNIT_BEGINS.exec(log); begin !== null; begin = JUNIT_BEGINS.exec(log)) {
    documents += 1;
    if (documents > MOST_DOCUMENTS) throw new TooMuchError();
    const reader = new CaseReader();
    JUNIT_BEGINS.lastIndex = Math.max(readFrom(log, begin.index, reader), begin.index + 1);
    if (reader.isClosed) found.push(reader.cases);
  }
  return found.flat();
}

/** Reads tag by tag until the first element is closed. @returns where the document, or the part before a fault, ended */
function readFrom(log: string, start: number, reader: CaseReader): number {
  const parser = parserFor(reader);
  let at = start;
  try {
    while (at < log.length && !reader.isClosed) {
      const close = log.indexOf('>', at);
      const end = close === -1 ? log.length : close + 1;
      parser.write(log.slice(at, end));
      at = end;
    }
  } catch (error) {
    if (!(error instanceof NoReportError || error instanceof TooMuchError)) throw error;
    const fault = log.indexOf('>', at);
    at = fault === -1 ? log.length : fault + 1;
  }
  return at;
}

const [DOCTEST_BEGINS, DOCTEST_ENDS] = ['<doctest', '</doctest>'];

/** Subcases of a report that doctest (C++) printed with `-s -r=xml`; a subcase passes if all its expressions do. */
export function readDoctestReportIn(log: string): readonly TestCase[] {
  const begin = log.indexOf(DOCTEST_BEGINS);
  const end = log.indexOf(DOCTEST_ENDS, begin);
  if (begin === -1 || end === -1) return [];
  const reader = new DoctestReader();
  return readDocument(log.slice(begin, end + DOCTEST_ENDS.length), reader) ? reader.cases : [];
}

class DoctestReader implements ElementReader {
  readonly cases: TestCase[] = [];
  /** Open elements; null for those that are no tests. */
  private readonly around: (TestCase | null)[] = [];

  open(element: string, { name = '', success = '' }: Attributes): void {
    if (this.around.length > DEEPEST || this.cases.length > MOST_ELEMENTS) throw new TooMuchError();
    const test = isDoctest(element) ? this.test(name) : null;
    this.around.push(test);
    if (test !== null) this.cases.push(test);
    if (element === 'Exception' || (element === 'Expression' && success !== 'true')) this.fail();
  }

  close(): void {
    this.around.pop();
  }

  private test(name: string): TestCase {
    return { classname: this.around.find((each) => each !== null)?.name ?? '', name, status: 'passed' };
  }

  private fail(): void {
    for (const test of this.around) if (test !== null) test.status = 'failed';
  }
}

function isDoctest(element: string): boolean {
  return element === 'TestCase' || element === 'SubCase';
}
