import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LAST_RUN = fileURLToPath(new URL('../node_modules/.cache/bestk/last-test-run.json', import.meta.url));

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

const SLOWEST = 15;

/**
 * The files that took longest, a line each, slowest first.
 * @param {null | { testResults: readonly { name: string, startTime: number, endTime: number }[] }} results
 * @param {string} root what is cut off their names
 * @returns {string[]}
 */
export function slowest(results, root) {
  return (results?.testResults ?? [])
    .map(({ name, startTime, endTime }) => ({ name: name.replace(root, ''), seconds: (endTime - startTime) / 1000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
}

/** Keeps how long each file of a run took, for `npm run house`. */
export function keepRun(results) {
  const testResults = results.testResults.map(({ name, startTime, endTime }) => ({ name, startTime, endTime }));
  mkdirSync(new URL('.', `file://${LAST_RUN}`), { recursive: true });
  writeFileSync(LAST_RUN, JSON.stringify({ testResults }));
}

/** What `keepRun` kept last; null when nothing. */
export function lastRun() {
  return existsSync(LAST_RUN) ? JSON.parse(readFileSync(LAST_RUN, 'utf8')) : null;
}
