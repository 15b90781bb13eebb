import { z } from 'zod';
import { listOf } from '../../../src/core/json.js';
import { type ControlEnd, type FailingTest, withoutFailingTest } from './failing-test.js';
import { linesOf } from '../reports/log-lines.js';
import { TooMuchError } from '../reports/test-log.js';
import { readReport, StatusByTest, type TestReport, type TestStatus } from '../reports/test-report.js';

/** What one run of the regression command left behind, as bytes; a patch may have written any of it. */
export interface RunRecord {
  /** The notes file of the probe. */
  readonly notes: Uint8Array;
  /** Marks the notes that the probe wrote. */
  readonly key: string;
  /** The added failing test; null = none was added. */
  readonly planted: FailingTest | null;
  /** The report file that the issue names; null = none. */
  readonly junit: Uint8Array | null;
  readonly stdout: Uint8Array;
}

export interface RecordedTests {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** Whether the results come from the runner's report, because the probe saw no test. */
  readonly reported: boolean;
  /** Functions of the test runner that were replaced during the run. */
  readonly changed: readonly string[];
  /** What happened to the added test, which fails whatever the code does. */
  readonly control: ControlEnd;
}

/** Reads a record without blocking other work; returns {@link NOTHING_RECORDED} if that takes too long. */
export type RecordReader = (record: RunRecord, signal: AbortSignal) => RecordedTests | Promise<RecordedTests>;

export const NOTHING_RECORDED: RecordedTests = {
  passed: [],
  failed: [],
  skipped: [],
  reported: true,
  changed: [],
  control: 'absent',
};

/** Bytes of the notes, and of the report. */
export const LARGEST_RECORD = 16 * 1024 * 1024;

const Note = z.object({
  t: z.string().min(1).max(2_000),
  s: z.enum(['passed', 'failed', 'skipped']),
  k: z.string(),
  c: listOf(z.string()).optional(),
});

/** Uses the probe's notes; if the probe saw no test, the runner's report. Linear, except for sorting the names. */
export function readRecord(record: RunRecord): RecordedTests {
  try {
    return recordedTests(record);
  } catch (error) {
    if (error instanceof TooMuchError) return NOTHING_RECORDED;
    throw error;
  }
}

function recordedTests({ notes, key, planted, junit, stdout }: RunRecord): RecordedTests {
  const tests = new StatusByTest();
  const changed: string[] = [];
  for (const line of linesOf(textOf(notes))) {
    const note = line.includes(key) ? readNote(line) : null;
    if (note?.k !== key) continue;
    if (note.c === undefined) tests.note(note.t, note.s);
    else changed.push(...note.c);
  }
  const reported = tests.all.size === 0;
  const report = (): TestReport => readReport({ junit: junit === null ? null : textOf(junit), stdout: textOf(stdout) });
  const all = reported ? report() : tests.all;
  const { control, ids } = withoutFailingTest(all, planted);
  const having = (status: TestStatus): string[] =>
    [...all]
      .filter(([test, value]) => value === status && !ids.has(test))
      .map(([test]) => test)
      .sort();
  const [passed, failed, skipped] = [having('passed'), having('failed'), having('skipped')];
  return { passed, failed, skipped, reported, changed, control };
}

/** A torn or foreign line is ignored: its test counts as missing, and a missing test never counts as passed. */
function readNote(line: string): z.infer<typeof Note> | null {
  try {
    const note = Note.safeParse(JSON.parse(line));
    return note.success ? note.data : null;
  } catch {
    return null;
  }
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
