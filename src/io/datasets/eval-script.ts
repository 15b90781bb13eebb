import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { placeOf } from '../records/records.js';
import type { DataRow } from './rows.js';
import { fields, type HiddenRow, MaybeText, unpackedJson } from './set-reader.js';

/** Name of the script in the container. */
const SCRIPT = 'eval.sh';
/** Marks around the output of the tests, in commands that do nothing. */
const [START, END] = ['>>>>> Start Test Output', '>>>>> End Test Output'];

const Asset = z.looseObject({ path: z.string().min(1) });
const Assets = z.array(z.unknown()).nullish().catch(null);
const EvalRow = z.object({
  eval_script: z.string().transform(withTestsAlone),
  log_parser: MaybeText,
  eval_type: MaybeText,
  image_assets: z.preprocess(unpackedJson, z.object({ test_patch: Assets, patch: Assets }).nullish().catch(null)),
});

/** Whether a row brings the script that runs its tests, as those of SWE-bench 5 do. */
export function hasEvalScript(row: DataRow['value']): boolean {
  return typeof row.eval_script === 'string' && row.eval_script.trim() !== '';
}

type EvalTests = Pick<HiddenRow, 'command' | 'log' | 'evalScript' | 'unusable'>;

/** How the script of a row runs the hidden tests. */
export function testsOfEvalScript(row: DataRow): EvalTests {
  const { eval_script: script, log_parser: log, ...more } = fields(EvalRow, row);
  const unusable = whyUnusable(row, { isMarked: script !== null, ...more });
  const evalScript = { name: SCRIPT, text: script?.text ?? '', tests: script?.tests ?? '' };
  return { command: `bash {scripts}/${SCRIPT}`, log, evalScript, unusable };
}

interface Needs extends Omit<z.infer<typeof EvalRow>, 'eval_script' | 'log_parser'> {
  readonly isMarked: boolean;
}

function whyUnusable(row: DataRow, { isMarked, ...needs }: Needs): BadInputError | undefined {
  const next = 'Pass --test-command with another command that runs the tests.';
  const error = (field: string, problem: string): BadInputError =>
    new BadInputError(problem, placeOf(row, field), next);
  if (!isMarked) return error('eval_script', `does not mark where the tests begin and end ("${START}").`);
  const { eval_type: type } = needs;
  if (type !== null && type !== 'pass_and_fail') {
    const shown = type.slice(0, 80);
    return error('eval_type', `is "${shown}": such logs name only tests that fail, so a run of no test would pass.`);
  }
  const files = binaryFiles(needs).length;
  if (files === 0) return undefined;
  return error('image_assets', `has ${files} binary files that the tests need; bestk does not download them.`);
}

/** Those that the harness puts into the container, since a patch cannot hold them. */
function binaryFiles({ image_assets: assets }: Pick<Needs, 'image_assets'>): readonly unknown[] {
  const files = [...(assets?.test_patch ?? []), ...(assets?.patch ?? [])];
  return files.filter((each) => Asset.safeParse(each).success);
}

/**
 * The script, changed so that it prints only what its tests print and ends with their exit code. What comes before them
 * runs the candidate's code too (`pip install -e .`), whose output must not reach the log; what comes after them only
 * restores files. It is one compound command, which bash reads as a whole: tests cannot rewrite the rest.
 */
function withTestsAlone(script: string): { readonly text: string; readonly tests: string } | null {
  const lines = script.replaceAll('\r\n', '\n').split('\n');
  const end = lines.findLastIndex((line) => line.includes(END));
  const start = lines.slice(0, Math.max(end, 0)).findLastIndex((line) => line.includes(START));
  if (start === -1) return null;
  const tests = lines.slice(start + 1, end);
  const text = [
    '{',
    '{ :',
    ...lines.slice(0, start),
    '} >/dev/null 2>&1',
    ...tests,
    'BESTK_ENDED=$?',
    'exit "$BESTK_ENDED"',
    '}',
    '',
  ].join('\n');
  return { text, tests: tests.join('\n') };
}
