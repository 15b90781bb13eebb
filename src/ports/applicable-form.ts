import { randomUUID } from 'node:crypto';
import { SandboxLostError } from '../core/errors/unavailable.js';
import { GIT_APPLY, readPatch } from '../core/patch/patch.js';
import type { PatchForm } from '../core/patch/repair-patch.js';
import { repairForBase } from '../core/patch/repair-for-base.js';
import type { SandboxSession } from './sandbox.js';

/** The form of a patch that git applies at base, or git's message about the patch itself. */
type FormAnswer = { readonly form: PatchForm; readonly detail: '' } | { readonly form: null; readonly detail: string };

interface Question {
  readonly form: PatchForm;
  /** What git has to apply for a form to count, each text by itself; absent = the form's own text. */
  readonly textsOf?: (text: string) => readonly string[];
}

const DEADLINE_S = 300;
const LONGEST_DETAIL = 1_000;
/** A shell's exit code is above this when a signal ended the command. */
const KILLED = 128;
/** UTF-16 units of a patch and bytes of a file; beyond them, nothing is repaired with what base is. */
const LARGEST_PATCH = 1024 * 1024;
const LARGEST_FILE = 2 * 1024 * 1024;
const MOST_FILES = 100;
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
 * Asks git which form of each patch applies: the patch itself, else the first of its repaired forms that does.
 * @param session at base
 * @throws SandboxLostError if git could not be asked
 */
export async function findApplicableForms(
  session: SandboxSession,
  questions: readonly Question[],
  signal: AbortSignal,
): Promise<{ readonly answers: readonly FormAnswer[]; readonly root: string | null }> {
  const asking = { session, signal };
  const { refusals, root } = await check(asking, questions);
  const answers: FormAnswer[] = [];
  for (const [index, question] of questions.entries()) {
    const detail = refusals[index] ?? '';
    const form = detail === '' ? question.form : await repaired(asking, question, root);
    answers.push(form === null ? { form, detail } : { form, detail: '' });
  }
  return { answers, root };
}

/** The same for one patch. */
export async function findApplicableForm(
  session: SandboxSession,
  form: PatchForm,
  signal: AbortSignal,
): Promise<FormAnswer> {
  const { answers } = await findApplicableForms(session, [{ form }], signal);
  if (answers[0] === undefined) throw new Error('the patch was asked about');
  return answers[0];
}

interface Asking {
  readonly session: SandboxSession;
  readonly signal: AbortSignal;
}

async function repaired(asking: Asking, { form, textsOf }: Question, root: string | null): Promise<PatchForm | null> {
  if (root === null || form.text.length > LARGEST_PATCH) return null;
  const { session, signal } = asking;
  let files = 0;
  const readBase = async (path: string): Promise<string | null> => {
    if (++files > MOST_FILES) return null;
    const bytes = await session.readFile(`${root}/${path}`, LARGEST_FILE + 1, signal);
    return bytes === null || bytes.length > LARGEST_FILE ? null : decode(bytes);
  };
  // A repaired patch is as untrusted as any other.
  const forms = (await repairForBase(form, readBase)).filter(({ text }) => {
    const read = readPatch(text);
    return read.kind === 'ok' && read.repairs.length === 0;
  });
  if (forms.length === 0) return null;
  const { refusals } = await check(
    asking,
    forms.map((each) => ({ form: each, ...(textsOf === undefined ? {} : { textsOf }) })),
  );
  return forms.find((_, index) => refusals[index] === '') ?? null;
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Git's message about each question's first text that does not apply; '' = all apply. */
async function check(
  { session, signal }: Asking,
  questions: readonly Question[],
): Promise<{ readonly refusals: readonly string[]; readonly root: string | null }> {
  const texts = questions.map(({ form, textsOf }) => textsOf?.(form.text) ?? [form.text]);
  const asked = [...new Set(texts.flat())];
  // Two folders: the engine decides who owns that of the patches; git's messages need one that the user can write.
  const place = { folder: `/var/tmp/${randomUUID()}`, said: `/var/tmp/${randomUUID()}` };
  const files = asked.map((text, index) => ({
    path: `${place.folder}/${index}`,
    content: text.endsWith('\n') ? text : `${text}\n`,
  }));
  await session.writeFiles(files, signal);
  const argv = ['sh', '-c', CHECK_EACH, 'sh', place.folder, String(asked.length), place.said, ...GIT_APPLY];
  const ended = await session.exec({ argv, deadlineS: DEADLINE_S }, signal);
  const printed = ended.stdout.split('\n');
  const statuses = printed.slice(0, asked.length);
  if (ended.kind !== 'exited' || ended.exitCode !== 0 || statuses.some((status) => !/^\d+$/.test(status))) {
    throw new SandboxLostError(`git could not be asked about the patches: ${ended.stderr.slice(0, 500)}`);
  }
  const refusals = new Map<string, string>();
  for (const [index, text] of asked.entries()) {
    const status = statuses[index];
    if (status !== '0') refusals.set(text, await refusal(session, Number(status), `${place.said}/${index}`, signal));
  }
  const first = (own: readonly string[]): string => own.flatMap((text) => refusals.get(text) ?? [])[0] ?? '';
  return { refusals: texts.map(first), root: printed[asked.length] || null };
}

/** Why git refused a patch. @throws SandboxLostError if there is no message: then the failure was not git's */
async function refusal(session: SandboxSession, status: number, file: string, signal: AbortSignal): Promise<string> {
  const words = new TextDecoder().decode((await session.readFile(file, LONGEST_DETAIL, signal)) ?? new Uint8Array());
  if (words !== '') return words;
  if (status > KILLED) return `git ended with ${status}`;
  throw new SandboxLostError(`git could not be asked about a patch: it ended with ${status} and said nothing`);
}
