import { z } from 'zod';
import { contentKey } from '../../../src/core/identifier.js';
import { readPatch, splitPatch, summaryOf } from '../../../src/core/patch/patch.js';
import type { PatchForm } from '../../../src/core/patch/repair-patch.js';
import type { Environment } from '../../../src/core/run/issue.js';
import type { Candidate } from '../../../src/core/run/candidate.js';
import { AppliedForm, REGRESSION, REPRODUCTION, type Verdict } from '../../../src/core/run/verdict.js';
import { findApplicableForms } from '../../../src/ports/applicable-form.js';
import type { SandboxSession } from '../../../src/ports/sandbox.js';
import { abstained, contextKey, type DistinctPatch, type ExecutionContext } from '../execution-context.js';
import { syntaxOf } from './syntax.js';
import type { TreeSessions } from './tree-sessions.js';

const Applicability = z.object({
  applies: z.boolean(),
  /** Why it does not. */
  detail: z.string(),
  /** The form that applies if the patch itself does not. */
  repaired: AppliedForm.nullable(),
  /** Equal for patches that leave the changed source files with the same syntax; null when unknown. */
  syntax: z.string().nullable().default(null),
});
type Applicability = z.infer<typeof Applicability>;

/**
 * Asks git, in one untouched session on base, which patches apply at base and in which form, and computes the syntax of what they make
 * of the source. Patches are asked about whole, as they are returned and graded, and without what verification sets apart.
 * @returns answers by text
 * @throws UnavailableError when the infrastructure kept failing
 */
async function applicability(
  context: ExecutionContext,
  patches: readonly SourcePatch[],
  sessions: TreeSessions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Applicability>> {
  const answers = new Map<string, Applicability>();
  const waiting = new Map<string, SourcePatch>();
  for (const patch of patches) {
    const stored = Applicability.safeParse(await context.results.get(keyOf(context, patch)));
    if (stored.success) answers.set(patch.form.text, stored.data);
    else waiting.set(patch.form.text, patch);
  }
  if (waiting.size === 0) return answers;
  const asked = [...waiting.values()];
  const found = await sessions.use((session) => ask(session, context, asked, signal));
  for (const [index, patch] of asked.entries()) {
    const answer = found[index];
    if (answer === undefined) throw new Error('each patch was asked about');
    const known = { ...answer, syntax: answer.syntax ?? null };
    // An answer is not stored if the session ended before the syntax was computed: the next attempt may succeed.
    if (answer.syntax !== undefined) await context.results.put(keyOf(context, patch), 'applicability', known);
    answers.set(patch.form.text, known);
  }
  return answers;
}

/** The syntax is undefined if the session ended before it was computed. */
type Asked = Omit<Applicability, 'syntax'> & { readonly syntax: string | null | undefined };

async function ask(
  session: SandboxSession,
  { issue: { environment, problem_statement: statement } }: ExecutionContext,
  patches: readonly SourcePatch[],
  signal: AbortSignal,
): Promise<readonly Asked[]> {
  const known = new Map(patches.map(({ form, source }) => [form.text, source]));
  const sourceOf = (text: string): string => known.get(text) ?? readSource(text, statement);
  const textsOf = (text: string): readonly string[] =>
    touchesHiddenPath(text, environment) ? [sourceOf(text)] : [text, sourceOf(text)];
  const questions = patches.map(({ form }) => ({ form, textsOf }));
  const { answers, root } = await findApplicableForms(session, questions, signal);
  const sources = answers.map(({ form }) => (form === null ? null : sourceOf(form.text)));
  const place = { root: root ?? environment.workdir, patches: [...new Set(sources.filter((each) => each !== null))] };
  const told = await syntaxOf(session, place, signal);
  const syntax = new Map(place.patches.map((source, index) => [source, told[index]]));
  return answers.map(({ form, detail }, index) => ({
    applies: form !== null,
    detail,
    repaired: form === null || form === patches[index]?.form ? null : { patch: form.text, repairs: [...form.repairs] },
    syntax: form === null ? null : syntax.get(sources[index] ?? ''),
  }));
}

/** Whether a patch changes a file that verification does not see; grading does. */
function touchesHiddenPath(text: string, { hidden_paths: hidden, workdir }: Environment): boolean {
  if (hidden.length === 0) return false;
  const patch = readPatch(text);
  const isHidden = (path: string): boolean =>
    hidden.some((each) => [path, `${workdir}/${path}`].some((own) => own === each || own.startsWith(`${each}/`)));
  return patch.kind === 'ok' && patch.files.some(({ paths }) => paths.some(isHidden));
}

function readSource(text: string, statement: string): string {
  const patch = readPatch(text, statement);
  return patch.kind === 'ok' ? splitPatch(patch).source : '';
}

function keyOf(context: ExecutionContext, { form: { text, repairs }, source }: SourcePatch): string {
  return contentKey({ kind: 'applicability', asked: 6, ...contextKey(context), patch: text, repairs, source });
}

export interface Unverifiable {
  readonly candidateId: string;
  readonly reason: 'no-source-change' | 'refused-patch';
  readonly detail: string;
}

/** A patch as it was read, and its part that verification applies. */
interface SourcePatch {
  readonly form: PatchForm;
  readonly source: string;
  readonly fingerprint: string;
}

export interface Verifiable extends SourcePatch {
  readonly candidateId: string;
}

/** @param statement of the issue */
export function verifiablePatches(
  candidates: readonly Candidate[],
  statement: string,
): { readonly verifiable: readonly Verifiable[]; readonly unverifiable: readonly Unverifiable[] } {
  const verifiable: Verifiable[] = [];
  const unverifiable: Unverifiable[] = [];
  for (const candidate of candidates) {
    const { candidate_id: candidateId } = candidate;
    const parsed = summaryOf(candidate, statement);
    if (parsed.kind === 'refused') {
      unverifiable.push({ candidateId, reason: 'refused-patch', detail: `${parsed.reason}: ${parsed.detail}` });
    } else if (parsed.kind === 'empty') {
      unverifiable.push({ candidateId, reason: 'no-source-change', detail: 'the patch is empty' });
    } else if (parsed.source === '') {
      const names = parsed.setApart.slice(0, 5).map(({ path }) => path);
      const detail = `the patch changes only tests or runner configuration: ${names.join(', ')}`;
      unverifiable.push({ candidateId, reason: 'no-source-change', detail });
    } else {
      const { source, fingerprint } = parsed;
      verifiable.push({ candidateId, form: parsed, source, fingerprint });
    }
  }
  return { verifiable, unverifiable };
}

/** Patches that apply at base, and verdicts for the others. */
export interface Applicable {
  readonly patches: readonly DistinctPatch[];
  readonly rejected: readonly Verdict[];
  /** Syntax by candidate, see applicability; candidates with unknown syntax are omitted. */
  readonly syntax: ReadonlyMap<string, string>;
  /** By candidate; candidates whose own patch applies are omitted. */
  readonly repaired: ReadonlyMap<string, AppliedForm>;
}

/**
 * Groups the candidates by the source patch to execute, in order of first appearance.
 * @param sessions on base
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function splitByApplicability(
  context: ExecutionContext,
  verifiable: readonly Verifiable[],
  sessions: TreeSessions,
  signal: AbortSignal,
): Promise<Applicable> {
  const answers = await applicability(context, verifiable, sessions, signal);
  const answered = verifiable.flatMap((patch) => {
    const answer = answers.get(patch.form.text);
    return answer === undefined ? [] : [{ ...patch, answer }];
  });
  const rejected = answered.flatMap(({ candidateId, answer: { applies, detail } }) =>
    applies
      ? []
      : [REGRESSION, REPRODUCTION].flatMap(({ name }) =>
          abstained([{ candidateIds: [candidateId] }], name, 'does-not-apply', detail),
        ),
  );
  const applying = answered.filter(({ answer }) => answer.applies);
  return {
    patches: distinctSources(applying, context.issue.problem_statement),
    rejected,
    syntax: new Map(
      applying.flatMap(({ candidateId, answer: { syntax } }) => (syntax === null ? [] : [[candidateId, syntax]])),
    ),
    repaired: new Map(
      applying.flatMap(({ candidateId, answer: { repaired } }) => (repaired === null ? [] : [[candidateId, repaired]])),
    ),
  };
}

function distinctSources(
  applying: readonly (Verifiable & { readonly answer: Applicability })[],
  statement: string,
): readonly DistinctPatch[] {
  const groups = new Map<string, DistinctPatch & { readonly candidateIds: string[] }>();
  for (const { candidateId, answer, ...own } of applying) {
    const repaired = answer.repaired === null ? null : summaryOf(answer.repaired, statement);
    const { source, fingerprint } = repaired?.kind === 'ok' ? repaired : own;
    const group = groups.get(fingerprint);
    if (group !== undefined) group.candidateIds.push(candidateId);
    else groups.set(fingerprint, { representative: candidateId, source, candidateIds: [candidateId] });
  }
  return [...groups.values()];
}
