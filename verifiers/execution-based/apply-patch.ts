import { SandboxLostError } from '../../src/core/unavailable.js';
import type { SandboxSession } from '../../src/ports/sandbox.js';
import type { Tree } from './bench.js';

const DEADLINE_S = 120;

/** `git apply` with hooks, attribute filters and the repository's own whitespace rules out of play. */
export const GIT_APPLY: readonly string[] = [
  'git',
  ...['core.hooksPath=/dev/null', 'core.attributesFile=/dev/null', 'safe.directory=*'].flatMap((entry) => [
    '-c',
    entry,
  ]),
  'apply',
  '--whitespace=nowarn',
];

/** Puts a source patch, known to apply, on the session's tree. @throws SandboxLostError when it no longer does */
export async function applyPatch(session: SandboxSession, tree: Tree, signal: AbortSignal): Promise<void> {
  if (tree === null) return;
  const ended = await session.exec({ argv: [...GIT_APPLY, '-'], stdin: tree, deadlineS: DEADLINE_S }, signal);
  if (ended.kind !== 'exited' || ended.exitCode !== 0) {
    throw new SandboxLostError(`a patch that applies at base did not (${ended.kind}): ${ended.stderr.slice(0, 500)}`);
  }
}
