import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { withoutComments } from './written-tests.js';

/** What a script does that has no place in a check of seconds, by what gives it away. */
const UNFIT: readonly (readonly [RegExp, string])[] = [
  [/\b(serve_forever|run_forever|start_server|create_server)\s*\(|\.listen\s*\(/, 'starts a server'],
  [/\bPopen\s*\([^)]{0,300}\b(runserver|http\.server|uvicorn|gunicorn|flask)\b/, 'starts a server'],
  [/^[ \t]*(?:\w+[ \t]*=[ \t]*)?(?:input|raw_input)[ \t]*\(/m, 'waits for input'],
  [/\bsleep\s*\(\s*(?:[1-9]\d+|[3-9])(?:\.\d*)?\s*\)/, 'waits for seconds'],
];

/**
 * Why tests are refused before anything runs: servers, waiting, and copies of an earlier one (equal but for comments and
 * blank lines). Keeps hanging scripts from costing their whole time limit on every candidate.
 * @param earlier those of rounds before, which are not judged again
 * @returns reasons by test id, to be read behind "it"
 */
export function unfitTests(
  tests: readonly GeneratedTest[],
  earlier: readonly GeneratedTest[] = [],
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  const first = new Map<string, string>();
  for (const { test_id, content } of earlier) first.set(codeOf(content), test_id);
  for (const { test_id, content } of tests) {
    const code = codeOf(content);
    const original = first.get(code);
    const found = UNFIT.find(([sign]) => sign.test(code));
    if (original !== undefined) reasons.set(test_id, `is the same as ${original}`);
    else if (found !== undefined) reasons.set(test_id, found[1]);
    first.set(code, original ?? test_id);
  }
  return reasons;
}

function codeOf(content: string): string {
  return withoutComments(content).join('\n');
}

/** Errors of the script itself rather than of the project. */
const OWN_ERRORS = [
  'ModuleNotFoundError',
  'ImportError',
  'SyntaxError',
  'IndentationError',
  'NameError',
  'ImproperlyConfigured',
  'AppRegistryNotReady',
  'FileNotFoundError',
];

/**
 * The error that a script took for the issue's, or null: it says "not solved" on base, but its output names an error that
 * says that the script does not work, and the issue speaks of no such error.
 */
export function wrongReason(log: string, issue: string): string | null {
  const named = OWN_ERRORS.find((error) => new RegExp(`\\b${error}\\b`).test(log) && !issue.includes(error));
  return named === undefined ? null : `says "not solved" on base because of its own ${named}`;
}
