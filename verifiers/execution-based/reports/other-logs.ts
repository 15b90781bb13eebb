import { byWord, firstGroup, printedLines, type ReadLine, readLines } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

const EXUNIT_TEST = /^\* (?:test|doctest|property) (\S.*?) ?(?:(\((?:skipped|excluded)\)) |\([\d.]+ms\) )?\[L#\d+\]$/;
const EXUNIT_FAILURE = /^\d+\) (?:test|doctest|property) (\S.*) \([^()]+\)$/;

/** Parses ExUnit's `mix test --trace`. @throws TooMuchError */
export function parseElixirLog(log: string): TestLog {
  return readLines(log, (printed) => {
    const line = printed.trim();
    const failed = EXUNIT_FAILURE.exec(line)?.[1];
    if (failed !== undefined) return [failed, 'failed'];
    const [, name, skipped] = EXUNIT_TEST.exec(line) ?? [];
    return name === undefined ? null : [name, skipped === undefined ? 'passed' : 'skipped'];
  });
}

const PLENARY = byWord(/^(?<word>Success|Fail|Failed|Skip|Skipped)\s*\|\|\s*(?<name>\S.*)$/);
const BUSTED = byWord(/^(?<word>ok|not ok) \d+ - (?<name>\S.*)$/);

/** Parses plenary (Neovim), and busted with TAP. @throws TooMuchError */
export function parseLuaLog(log: string): TestLog {
  return readLines(log, PLENARY, BUSTED);
}

const SWIFT_CASE = byWord(/^Test (?:Case|Suite) '(?<name>[^']+)' (?<word>passed|failed|skipped)/);
const SWIFT_TEST = byWord(/^\S Test (?<name>\S.*) (?<word>passed|failed|skipped)(?: after|$)/u);

/** Parses XCTest and swift-testing. @throws TooMuchError */
export function parseSwiftLog(log: string): TestLog {
  return readLines(log, (printed) => {
    const line = printed.trim();
    return SWIFT_CASE(line) ?? SWIFT_TEST(line);
  });
}

const DOTNET = byWord(/^ +(?<word>Passed|Failed|Skipped) (?<name>\S.*)$/);
const XUNIT_FAILURE = /^\[xUnit\.net [\d:.]+\] +(\S.*) \[FAIL\]$/;
const dotnet: ReadLine = (line) => {
  const failed = XUNIT_FAILURE.exec(line)?.[1];
  if (failed !== undefined) return [failed, 'failed'];
  const [name, status] = DOTNET(line) ?? [];
  if (name === undefined || status === undefined) return null;
  const own = name.replace(/ \[[^\]]*\]$/, '');
  return own === name && status !== 'skipped' ? null : [own, status];
};

/** Parses `dotnet test` with its console logger. @throws TooMuchError */
export function parseCsharpLog(log: string): TestLog {
  return readLines(log, dotnet);
}

const CONTEXT = /^([✔✖]) \|[^|]*\| +(\S.*)$/;
const TESTTHAT_FAILURE = byWord(/^(?:[─-]+ )?(?<word>Failure|Error) \([^)]+\): (?<name>[^\s─][^─]*)/);
const SECTION_BEGINS = /^(?:══|──|==) Failed tests /;
const SECTION_ENDS = /^\[ FAIL|^══ Results/;

/** Parses testthat's contexts and its list of failed tests. @throws TooMuchError */
export function parseRLog(log: string): TestLog {
  const tests = new TestLog();
  let isList = false;
  for (const printed of printedLines(log)) {
    const line = printed.trim();
    isList = SECTION_BEGINS.test(line) || (isList && !SECTION_ENDS.test(line));
    const found = testthatContext(line) ?? (isList ? TESTTHAT_FAILURE(line) : null);
    if (found !== null) tests.note(...found);
  }
  return tests;
}

const testthatContext: ReadLine = (line) => {
  const [, mark, context = ''] = CONTEXT.exec(line) ?? [];
  return mark === undefined ? null : [context, mark === '✔' ? 'passed' : 'failed'];
};

const CHECK = /^\* checking (\S.*?) \.\.\.(?: ([A-Z]+))?$/;
const CHECK_RESULT = /^([A-Z]+)(?![a-z])/;
const CHECK_STATUS: Readonly<Record<string, LoggedStatus>> = {
  ...{ OK: 'passed', NOTE: 'passed', NOTES: 'passed', SKIPPED: 'skipped', FAIL: 'failed', FAILED: 'failed' },
  ...{ WARNING: 'failed', WARNINGS: 'failed', ERROR: 'error', ERRORS: 'error' },
};

/** Parses `R CMD check`, whose result may be on a line of its own after other output. @throws TooMuchError */
export function parseRCheckLog(log: string): TestLog {
  const tests = new TestLog();
  let waiting: string | null = null;
  for (const printed of printedLines(log)) {
    const line = printed.trim();
    const [, check, word = ''] = CHECK.exec(line) ?? [];
    const status = CHECK_STATUS[check === undefined ? (firstGroup(CHECK_RESULT, line) ?? '') : word];
    const name: string | null = check ?? waiting;
    if (name !== null && status !== undefined) tests.note(name, status);
    waiting = status === undefined ? name : null;
  }
  return tests;
}

const JULIA_HEADER = 'Test Summary:';

interface Column {
  readonly title: string;
  readonly end: number;
}

/** Parses the tables of Julia's `Test`; an empty cell counts as none. @throws TooMuchError */
export function parseJuliaLog(log: string): TestLog {
  const tests = new TestLog();
  let columns: readonly Column[] = [];
  for (const line of printedLines(log)) {
    const bar = line.indexOf('|');
    if (bar === -1) continue;
    const [name, cells] = [line.slice(0, bar).trim(), line.slice(bar + 1)];
    if (name.endsWith(JULIA_HEADER)) columns = columnsOf(cells);
    else noteJuliaRow(tests, name, cells, columns);
  }
  return tests;
}

function columnsOf(header: string): readonly Column[] {
  return [...header.matchAll(/\w+/g)].map(({ 0: title, index }) => ({ title, end: index + title.length }));
}

/** The last number is the total. */
function noteJuliaRow(tests: TestLog, name: string, cells: string, columns: readonly Column[]): void {
  const numbers = [...cells.matchAll(/\S+/g)].filter(({ 0: cell }) => /^\d+$/.test(cell));
  if (columns.length === 0 || numbers.length < 2) return;
  const counts = numbers.slice(0, -1).filter(({ 0: cell }) => cell !== '0');
  tests.note(name, juliaStatus(columns, counts));
}

function juliaStatus(columns: readonly Column[], counts: readonly RegExpExecArray[]): LoggedStatus {
  const titles = new Set(counts.map(({ 0: cell, index }) => titleAt(columns, index, index + cell.length)));
  if (titles.has('Error')) return 'error';
  if (titles.has('Fail')) return 'failed';
  return titles.has('Pass') ? 'passed' : 'skipped';
}

/** Numbers end where the title of their column ends, or reach beyond it. */
function titleAt(columns: readonly Column[], start: number, end: number): string {
  return columns.find((column) => end === column.end || (start < column.end && end > column.end))?.title ?? 'Error';
}
