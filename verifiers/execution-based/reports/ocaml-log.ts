import { byWord, printedLines, statusOfWord } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

const BRACKETED = /^\s*(?:> )?\[([A-Za-z][\w-]*)\]\s+(\S.*)$/;
/** Suite, number and title of a test, as Alcotest prints them. */
const NUMBERED = /(?:^|\s)\d+\s+\S/;
const IN_COLUMNS = byWord(/^(?<word>PASSED|FAILED|ERROR|SKIPPED|XFAIL)\s+(?<name>\S+(?: \S+)*)/);

/** Parses Alcotest, QCheck, inline tests, ocamlbuild, and dune's log of test binaries. @throws TooMuchError */
export function parseOcamlLog(log: string): TestLog {
  const tests = new TestLog();
  const dune = new DuneScan();
  for (const line of printedLines(log)) {
    dune.line(line.trim());
    const [, word = '', said = ''] = BRACKETED.exec(line) ?? [];
    const status = statusOfWord(word) ?? (/^[A-Z]+$/.test(word) && NUMBERED.test(said) ? 'error' : undefined);
    const found = status === undefined ? IN_COLUMNS(line.trim()) : ([said.replace(/\s+/g, ' '), status] as const);
    if (found !== null) tests.note(...found);
  }
  dune.note(tests);
  return tests;
}

const RUNNING = /^Running\[(\d+)\]: \((.+)\)$/;
const OUTPUT = /^Output\[(\d+)\]:/;

/** `Running[1]: (… ./a.exe)` and, later, `Output[1]:` with what it printed: a binary passes unless that tells of a failure. */
class DuneScan {
  private readonly binaries = new Map<string, string>();
  private readonly statuses = new Map<string, LoggedStatus>();
  private printing: string | null = null;

  line(line: string): void {
    const [, id, command = ''] = RUNNING.exec(line) ?? [];
    const output = OUTPUT.exec(line)?.[1];
    if (id !== undefined) {
      this.binaries.set(id, binaryOf(command) || `run_${id}`);
      this.printing = null;
    } else if (output !== undefined) this.printing = this.binaries.get(output) ?? null;
    else if (this.printing !== null && line !== '') this.printed(this.printing, line);
  }

  note(tests: TestLog): void {
    for (const [name, status] of this.statuses) tests.note(name, status);
  }

  private printed(binary: string, line: string): void {
    const known = this.statuses.get(binary) ?? 'passed';
    const isFailure = /FAIL|ERROR|EXCEPTION|CRASH|FATAL/i.test(line);
    const isSkipped = known === 'passed' && /SKIP/i.test(line);
    this.statuses.set(binary, isFailure ? 'failed' : isSkipped ? 'skipped' : known);
  }
}

function binaryOf(command: string): string {
  const last = command
    .slice(command.lastIndexOf('&&') + 1)
    .replace(/^&/, '')
    .trim();
  const [path = ''] = last
    .replace(/^exec /, '')
    .trim()
    .split(/\s+/);
  return path.slice(path.lastIndexOf('/') + 1);
}
