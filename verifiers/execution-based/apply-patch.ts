import { z } from 'zod';
import { contentKey } from '../../src/core/fingerprint.js';
import { SandboxLostError } from '../../src/core/unavailable.js';
import type { SandboxSession } from '../../src/ports/sandbox.js';
import { benchKey, type Bench, type Tree } from './bench.js';
import type { Job } from './job.js';

const DEADLINE_S = 120;

/** `git apply` with hooks, attribute filters and the repository's own whitespace rules out of play. */
function gitApply(...options: string[]): string[] {
  const config = ['core.hooksPath=/dev/null', 'core.attributesFile=/dev/null', 'safe.directory=*'];
  return ['git', ...config.flatMap((entry) => ['-c', entry]), 'apply', '--whitespace=nowarn', ...options, '-'];
}

export const Applicability = z.object({ applies: z.boolean(), detail: z.string() });
export type Applicability = z.infer<typeof Applicability>;

/** Asks git whether a source patch applies at base, without changing the tree: one session can be asked about all. */
export function applicabilityJob(bench: Bench, patch: string): Job<Applicability> {
  return {
    key: contentKey({ kind: 'applicability', ...benchKey(bench), patch }),
    kind: 'applicability',
    schema: Applicability,
    closesSession: () => false,
    run: async (session, signal) => {
      const { exitCode, stderr } = await git(session, gitApply('--check'), patch, signal);
      return { applies: exitCode === 0, detail: stderr.slice(0, 1_000) };
    },
  };
}

/** Puts a source patch, known to apply, on the session's tree. @throws SandboxLostError when it no longer does */
export async function applyPatch(session: SandboxSession, tree: Tree, signal: AbortSignal): Promise<void> {
  if (tree === null) return;
  const { exitCode, stderr } = await git(session, gitApply(), tree, signal);
  if (exitCode !== 0) throw new SandboxLostError(`a patch that applies at base did not: ${stderr.slice(0, 500)}`);
}

async function git(
  session: SandboxSession,
  argv: string[],
  patch: string,
  signal: AbortSignal,
): Promise<{ exitCode: number; stderr: string }> {
  const ended = await session.exec({ argv, stdin: patch, deadlineS: DEADLINE_S }, signal);
  if (ended.kind !== 'exited') throw new SandboxLostError(`git apply ended as ${ended.kind}`);
  return ended;
}
