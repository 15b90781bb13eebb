/**
 * One plain line for jest's JSON results. A suite that did not run at all counts as one failure.
 * @param {null | { numPassedTests: number, numFailedTests: number, numPendingTests: number, numTodoTests: number,
 *   numRuntimeErrorTestSuites: number }} results null when jest wrote none
 * @returns {{ line: string, ran: number }} `ran` = tests that passed or failed
 */
export function summarise(results) {
  if (results === null) return { line: '0 passed, 0 failed', ran: 0 };
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  const skipped = results.numPendingTests + results.numTodoTests;
  const line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  return { line, ran: results.numPassedTests + failed };
}
