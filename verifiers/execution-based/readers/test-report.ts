import { goReport } from './go.js';
import { junitReport } from './junit.js';
import { documentReport, printedReport } from './runner-output.js';
import { tapReport } from './tap.js';
import { type TestReport, TooMuchError } from './test-status.js';

/**
 * What a test runner reported, for repositories that the probe cannot see into (it listens to Python's runners alone):
 * JUnit XML from a file, else what stdout is by its content: `go test -json`, TAP, the documents of jest and RSpec, what cargo and SymPy print. A report that is cut off, damaged, none of these or
 * of no test runner's size gives no passes. Written by the same process as the code under test: a patch may forge it, see docs/decisions/0002.
 */
export function readReport({ junit, stdout }: { readonly junit: string | null; readonly stdout: string }): TestReport {
  try {
    if (junit !== null) return junitReport(junit);
    for (const read of [goReport, tapReport, documentReport, printedReport]) {
      const report = read(stdout);
      if (report.size > 0) return report;
    }
    return new Map();
  } catch (error) {
    if (error instanceof TooMuchError) return new Map();
    throw error;
  }
}
