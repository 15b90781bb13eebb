import type { ReadablePatch } from '../core/patch/patch.js';
import { SandboxLostError } from '../core/errors/unavailable.js';
import type { ExecOutcome, SandboxSession } from '../ports/sandbox.js';
import type { GradingContext } from './grade.js';

const DEADLINE_S = 300;
const LONGEST_DETAIL = 500;

/** git with hooks, attribute files of the user and pathspec magic out of play. */
const GIT: readonly string[] = [
  'git',
  '--literal-pathspecs',
  ...['core.hooksPath=/dev/null', 'core.attributesFile=/dev/null', 'safe.directory=*'].flatMap((entry) => [
    '-c',
    entry,
  ]),
];

/** Puts each file back as it is in the commit; what is not there is removed. */
const RESTORE = [
  `g() { ${GIT.map((word) => `'${word}'`).join(' ')} "$@"; }`,
  'commit=$1; shift',
  'for path do',
  '  rm -rf -- "./$path"',
  '  if g cat-file -e "$commit:$path" 2>/dev/null; then g checkout -q "$commit" -- "$path" || exit 1; fi',
  'done',
].join('\n');

/**
 * The repository at base with the candidate's whole patch, the tests' and the runner's own files as they are at base, and
 * the test patch on top: the order of SWE-bench's harness, in which no candidate's file stands where a hidden test goes.
 * @returns why the patch cannot be graded, or null
 * @throws SandboxLostError when git, which ran nothing of the candidate's, could not restore files
 */
export async function patchTree(
  session: SandboxSession,
  { tests, command }: GradingContext,
  candidate: { readonly text: string; readonly patch: ReadablePatch },
  signal: AbortSignal,
): Promise<string | null> {
  const applied = await apply(session, candidate.text, signal);
  if (!succeeded(applied)) return `the patch does not apply: ${detailOf(applied)}`;
  const ownRunner = candidate.patch.files
    .filter(({ role, paths }) => role === 'runner-config' || paths.some((path) => command.runnerFiles.includes(path)))
    .flatMap(({ paths }) => paths);
  await restore(session, [...tests.files.flatMap(({ paths }) => paths), ...ownRunner], signal);
  if (tests.testPatch === null) return null;
  const tested = await apply(session, tests.testPatch, signal);
  return succeeded(tested) ? null : `the hidden tests do not apply beside the patch: ${detailOf(tested)}`;
}

/** Puts the hidden tests on base, unless the image has them. @returns git's complaint when they do not apply, or null */
export async function testedBase(
  session: SandboxSession,
  testPatch: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  if (testPatch === null) return null;
  const asked = await apply(session, testPatch, signal);
  return succeeded(asked) ? null : detailOf(asked);
}

function apply(session: SandboxSession, patch: string, signal: AbortSignal): Promise<ExecOutcome> {
  const stdin = patch.endsWith('\n') ? patch : `${patch}\n`;
  return session.exec({ argv: [...GIT, 'apply', '--whitespace=nowarn', '-'], stdin, deadlineS: DEADLINE_S }, signal);
}

async function restore(session: SandboxSession, paths: readonly string[], signal: AbortSignal): Promise<void> {
  const argv = ['sh', '-c', RESTORE, 'sh', session.baseCommit, ...new Set(paths)];
  const done = await session.exec({ argv, deadlineS: DEADLINE_S }, signal);
  if (!succeeded(done)) throw new SandboxLostError(`the tests' files could not be restored: ${detailOf(done)}`);
}

function succeeded(ended: ExecOutcome): boolean {
  return ended.kind === 'exited' && ended.exitCode === 0;
}

function detailOf(ended: ExecOutcome): string {
  return ended.kind === 'exited' ? ended.stderr.trim().slice(0, LONGEST_DETAIL) : `git ended as ${ended.kind}`;
}
