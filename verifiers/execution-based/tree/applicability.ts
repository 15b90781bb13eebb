import { type DistinctPatch, contextKey, type ExecutionContext, scratchDirectory } from '../execution-context.js';
import { z } from 'zod';
import { contentKey } from '../../../src/core/identifier.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { GIT_APPLY, summaryOf } from '../../../src/core/patch/patch.js';
import type { SandboxSession } from '../../../src/ports/sandbox.js';
import { TreeSessions } from './tree-sessions.js';
import { syntaxOf } from './syntax.js';
import type { Candidate } from '../../../src/core/run/candidate.js';
import type { Verdict } from '../../../src/core/run/verdict.js';

export const Applicability = z.object({
  applies: z.boolean(),
  detail: z.string(),
  /** Equal for patches that leave the changed files with the same syntax; null when unknown. */
  syntax: z.string().nullable().default(null),
});
export type Applicability = z.infer<typeof Applicability>;

const DEADLINE_S = 300;
const LONGEST_DETAIL = 1_000;
/** A shell's exit code is above this when a signal ended the command. */
const KILLED = 128;
/** Prints one exit status per line, then the folder that patches are relative to. Nothing from the patches is executed, so all output is from git and the shell. */
const CHECK_EACH = `
folder=$1 count=$2 said=$3; shift 3
mkdir -p "$said" || exit 1
i=0
while [ "$i" -lt "$count" ]; do
  [ -r "$folder/$i" ] && : >"$said/$i" || exit 1
  "$@" --check "$folder/$i" 2>"$said/$i"; echo $?
  i=$((i+1))
done
git -c safe.directory='*' rev-parse --show-toplevel 2>/dev/null || :`;

/**
 * Checks with git, in one untouched session, which source patches apply at base, and computes their syntax.
 * @param shared sessions on base to use; absent = its own
 * @returns answers by patch
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function applicability(
  context: ExecutionContext,
  patches: readonly string[],
  signal: AbortSignal,
  shared?: TreeSessions,
): Promise<ReadonlyMap<string, Applicability>> {
  const answers = new Map<string, Applicability>();
  const waiting: string[] = [];
  for (const patch of patches) {
    const stored = Applicability.safeParse(await context.results.get(keyOf(context, patch)));
    if (stored.success) answers.set(patch, stored.data);
    else waiting.push(patch);
  }
  if (waiting.length === 0) return answers;
  await using sessions = new TreeSessions(context, { tree: null, user: 'image', writes: [] }, signal);
  const found = await (shared ?? sessions).use((session) => ask(session, context, waiting, signal));
  for (const [index, patch] of waiting.entries()) {
    const answer = found[index];
    if (answer === undefined) throw new Error('each patch was asked about');
    const known = { ...answer, syntax: answer.syntax ?? null };
    // An answer is not stored if the session ended before the syntax was computed: the next attempt may succeed.
    if (answer.syntax !== undefined) await context.results.put(keyOf(context, patch), 'applicability', known);
    answers.set(patch, known);
  }
  return answers;
}

/** The syntax is undefined if the session ended before it was computed. */
type Asked = Omit<Applicability, 'syntax'> & { readonly syntax: string | null | undefined };

async function ask(
  session: SandboxSession,
  context: ExecutionContext,
  patches: readonly string[],
  signal: AbortSignal,
): Promise<readonly Asked[]> {
  // Two folders: the engine decides who owns that of the patches; git's messages need one that the user can write.
  const [folder, said] = [scratchDirectory(context.nonce), scratchDirectory(context.nonce)];
  const files = patches.map((content, index) => ({ path: `${folder}/${index}`, content }));
  await session.writeFiles(files, signal);
  const argv = ['sh', '-c', CHECK_EACH, 'sh', folder, String(patches.length), said, ...GIT_APPLY];
  const ended = await session.exec({ argv, deadlineS: DEADLINE_S }, signal);
  const printed = ended.stdout.split('\n');
  const statuses = printed.slice(0, patches.length);
  if (ended.kind !== 'exited' || ended.exitCode !== 0 || statuses.some((status) => !/^\d+$/.test(status))) {
    throw new SandboxLostError(`git could not be asked about the patches: ${ended.stderr.slice(0, 500)}`);
  }
  const details: string[] = [];
  for (const [index, status] of statuses.entries()) {
    details.push(status === '0' ? '' : await refusal(session, Number(status), `${said}/${index}`, signal));
  }
  const applying = patches.filter((_, index) => statuses[index] === '0');
  const root = printed[patches.length] || context.issue.environment.workdir;
  const told = await syntaxOf(session, { root, patches: applying }, signal);
  const syntax = new Map(applying.map((patch, index) => [patch, told[index]]));
  return patches.map((patch, index) => ({
    applies: statuses[index] === '0',
    detail: details[index] ?? '',
    syntax: statuses[index] === '0' ? syntax.get(patch) : null,
  }));
}

/** Why git refused a patch. @throws SandboxLostError if there is no message: then the failure was not git's */
async function refusal(session: SandboxSession, status: number, file: string, signal: AbortSignal): Promise<string> {
  const words = new TextDecoder().decode((await session.readFile(file, LONGEST_DETAIL, signal)) ?? new Uint8Array());
  if (words !== '') return words;
  if (status > KILLED) return `git ended with ${status}`;
  throw new SandboxLostError(`git could not be asked about a patch: it ended with ${status} and said nothing`);
}

function keyOf(context: ExecutionContext, patch: string): string {
  return contentKey({ kind: 'applicability', asked: 5, ...contextKey(context), patch });
}

/** Patches that apply at base, and verdicts for the others. */
export interface Applicable {
  readonly patches: readonly DistinctPatch[];
  readonly rejected: readonly Verdict[];
  /** Syntax by candidate, see Applicability; candidates with unknown syntax are omitted. */
  readonly syntax: ReadonlyMap<string, string>;
}

export interface Unverifiable {
  readonly candidateId: string;
  readonly reason: 'no-source-change' | 'refused-patch';
  readonly detail: string;
}

/**
 * Groups the candidates by the source patch to execute, in order of first appearance.
 * @param statement of the issue
 */
export function distinctPatches(
  candidates: readonly Candidate[],
  statement: string,
): {
  readonly patches: readonly DistinctPatch[];
  readonly unverifiable: readonly Unverifiable[];
} {
  const groups = new Map<string, { source: string; ids: string[] }>();
  const unverifiable: Unverifiable[] = [];
  for (const candidate of candidates) {
    const { candidate_id: candidateId } = candidate;
    const parsed = summaryOf(candidate, statement);
    if (parsed.kind === 'refused') {
      unverifiable.push({ candidateId, reason: 'refused-patch', detail: `${parsed.reason}: ${parsed.detail}` });
      continue;
    }
    if (parsed.kind === 'empty') {
      unverifiable.push({ candidateId, reason: 'no-source-change', detail: 'the patch is empty' });
      continue;
    }
    const { source, setApart, fingerprint: key } = parsed;
    if (source === '') {
      const names = setApart.slice(0, 5).map(({ path }) => path);
      const detail = `the patch changes only tests or runner configuration: ${names.join(', ')}`;
      unverifiable.push({ candidateId, reason: 'no-source-change', detail });
      continue;
    }
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { source, ids: [candidateId] });
    else group.ids.push(candidateId);
  }
  const patches = [...groups.values()].map(({ source, ids }) => ({
    representative: ids[0] ?? '',
    candidateIds: ids,
    source,
  }));
  return { patches, unverifiable };
}
