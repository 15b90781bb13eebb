import { formatPatch, parsePatch, reversePatch } from 'diff';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { repositoryOf } from '../../core/run/issue.js';
import { placeOf } from '../records/records.js';
import { hasEvalScript, testsOfEvalScript } from './eval-script.js';
import type { DataRow } from './rows.js';
import {
  type ColumnUse,
  fields,
  type HiddenRow,
  MaybeText,
  Names,
  type SealedContent,
  type SetReader,
  unpackedJson,
} from './set-reader.js';

const Identity = z.object({ instance_id: z.string().min(1), repo: MaybeText });
const Statement = Identity.extend({ problem_statement: z.string() });
const Images = z.object({ image_name: MaybeText, docker_image: MaybeText, image: MaybeText });
const Answer = Identity.extend({
  version: z
    .union([z.string(), z.number()])
    .nullish()
    .transform((version) => version?.toString() ?? null),
  patch: MaybeText,
  gold_patch: MaybeText,
  test_patch: MaybeText,
  FAIL_TO_PASS: Names,
  PASS_TO_PASS: Names,
});

/** SWE-bench's original columns, which the other sets kept. */
const COMMON: Readonly<Record<string, ColumnUse>> = {
  instance_id: 'issue',
  repo: 'issue',
  problem_statement: 'issue',
  image_name: 'issue',
  docker_image: 'issue',
  image: 'issue',
  version: 'filter',
  created_at: 'filter',
  language: 'filter',
  difficulty: 'filter',
  patch: 'sealed',
  gold_patch: 'sealed',
  test_patch: 'sealed',
  FAIL_TO_PASS: 'sealed',
  PASS_TO_PASS: 'sealed',
  hints_text: 'sealed',
  base_commit: 'unused',
  environment_setup_commit: 'unused',
};

/** How the sets of this family differ. */
type HowToTest = Pick<HiddenRow, 'command' | 'log' | 'logColumn' | 'evalScript' | 'unusable'>;

interface Family {
  readonly set: string;
  readonly recognises: SetReader['recognises'];
  readonly columns?: Readonly<Record<string, ColumnUse>>;
  /** Image by the set's convention, if the row names none; null = no convention for such an id. */
  readonly image: (instanceId: string) => string | null;
  readonly workdir?: string;
  /** How to run the tests, if the row specifies it. */
  readonly tests?: (row: DataRow) => HowToTest;
}

function readerOf({ set, recognises, columns, image, workdir, tests }: Family): SetReader {
  return {
    set,
    recognises,
    columns: { ...COMMON, ...columns },
    issue: (row) => {
      const { instance_id, repo, problem_statement } = fields(Statement, row);
      const { docker_image, image_name, image: own } = fields(Images, row);
      const named = docker_image ?? image_name ?? own ?? image(instance_id);
      return {
        instance_id,
        repo: repo ?? repositoryOf(instance_id),
        problem_statement,
        environment: { ...(named === null ? {} : { image: named }), ...(workdir === undefined ? {} : { workdir }) },
      };
    },
    sealed: (row) => sealedOf(row, tests?.(row) ?? { command: null, log: null }),
  };
}

function sealedOf(row: DataRow, how: HowToTest): SealedContent {
  const { instance_id, repo, version, patch, gold_patch, test_patch, ...names } = fields(Answer, row);
  const tests = {
    repo: repo ?? repositoryOf(instance_id),
    version,
    testPatch: test_patch,
    failToPass: names.FAIL_TO_PASS,
    passToPass: names.PASS_TO_PASS,
    ...how,
  };
  const hasTests = 'FAIL_TO_PASS' in row.value || 'test_patch' in row.value;
  return { tests: hasTests ? requireTests(row, tests) : null, gold: patch ?? gold_patch };
}

/** @throws BadInputError if no test is listed, since every patch would pass */
export function requireTests(row: DataRow, tests: HiddenRow): HiddenRow {
  if (tests.failToPass.length + tests.passToPass.length > 0) return tests;
  throw new BadInputError('names no test, which every patch would pass.', placeOf(row, 'FAIL_TO_PASS'));
}

/** Docker Hub does not allow `__` in some positions, so each set substitutes it differently. */
function hubName(prefix: string, between: string) {
  return (id: string): string | null =>
    repositoryOf(id) === null ? null : `${prefix}${id.replace('__', between).toLowerCase()}`;
}

const sweBenchImage = hubName('swebench/sweb.eval.x86_64.', '_1776_');

/** SWE-bench itself, Lite, Verified, Multimodal and Multilingual, which differ by a column or two. */
export const sweBench = readerOf({
  set: 'swe-bench',
  recognises: (row) => 'instance_id' in row && 'problem_statement' in row,
  columns: { image_assets: 'unused' },
  image: sweBenchImage,
});

/** Rows of SWE-bench since version 5 of its harness bring their image, the script that runs their tests, and its parser. */
export const sweBench5 = readerOf({
  set: 'swe-bench',
  recognises: (row) => sweBench.recognises(row) && hasEvalScript(row),
  columns: {
    eval_script: 'sealed',
    log_parser: 'sealed',
    eval_type: 'sealed',
    image_assets: 'sealed',
    FAIL_TO_FAIL: 'sealed',
    PASS_TO_FAIL: 'sealed',
  },
  image: sweBenchImage,
  tests: (row) => testsOfEvalScript(row),
});

/** SWE-Gym has SWE-bench's columns, but other repositories. */
const SWE_GYM_REPOS: ReadonlySet<unknown> = new Set([
  'Project-MONAI/MONAI',
  'bokeh/bokeh',
  'conan-io/conan',
  'dask/dask',
  'facebookresearch/hydra',
  'getmoto/moto',
  'iterative/dvc',
  'modin-project/modin',
  'pandas-dev/pandas',
  'pydantic/pydantic',
  'python/mypy',
]);

export const sweGym = readerOf({
  set: 'swe-gym',
  recognises: (row) => 'instance_id' in row && 'test_patch' in row && SWE_GYM_REPOS.has(row.repo),
  image: hubName('xingyaoww/sweb.eval.x86_64.', '_s_'),
});

const Commands = z
  .preprocess(unpackedJson, z.union([z.string().transform((command) => [command]), z.array(z.string())]).nullish())
  .transform((commands) => (commands ?? []).filter((command) => command.trim() !== ''));
const LiveTests = z.object({
  rebuild_cmds: Commands,
  test_cmds: Commands,
  print_cmds: Commands,
  log_parser: MaybeText,
});

/** SWE-bench-Live and its MultiLang: the row specifies how its tests are run. */
export const sweBenchLive = readerOf({
  set: 'swe-bench-live',
  recognises: (row) => 'test_cmds' in row,
  columns: {
    pull_number: 'filter',
    log_parser: 'sealed',
    test_cmds: 'sealed',
    rebuild_cmds: 'sealed',
    print_cmds: 'sealed',
    all_hints_text: 'sealed',
    commit_url: 'sealed',
    commit_urls: 'sealed',
    issue_numbers: 'unused',
  },
  image: hubName('starryzhang/sweb.eval.x86_64.', '_1776_'),
  tests: (row) => {
    const { rebuild_cmds, test_cmds, print_cmds, log_parser } = fields(LiveTests, row);
    // If the rebuild fails, the tests show it; the commands that print the log must not mask the tests' exit code.
    const tests =
      print_cmds.length === 0 ? test_cmds : [`${test_cmds.join(' ; ')}; ended=$?`, ...print_cmds, '(exit $ended)'];
    return {
      command: test_cmds.length === 0 ? null : [...rebuild_cmds, ...tests].join('\n'),
      log: parserName(log_parser),
    };
  },
});

const Install = z.object({
  install_config: z.preprocess(
    unpackedJson,
    z.object({ test_cmd: Commands, log_parser: MaybeText.optional() }).nullish(),
  ),
});

/** SWE-rebench, first and second edition: rows name their images, and specify how to run the tests. */
const sweRebenchFamily = readerOf({
  set: 'swe-rebench',
  recognises: (row) => 'install_config' in row,
  columns: {
    install_config: 'sealed',
    FAIL_TO_FAIL: 'sealed',
    PASS_TO_FAIL: 'sealed',
    pr_description: 'sealed',
    interface: 'sealed',
    meta: 'unused',
    requirements: 'unused',
    environment: 'unused',
    license_name: 'unused',
    license: 'unused',
  },
  image: hubName('swerebench/sweb.eval.x86_64.', '_1776_'),
  tests: (row) => {
    const { test_cmd = [], log_parser } = fields(Install, row).install_config ?? {};
    // As in its harness: pytest gets the changed files as arguments, other commands are complete.
    const line = test_cmd.map((command) => (/\bpytest\b/.test(command) ? `${command} {files}` : command)).join('\n');
    return {
      command: line === '' ? null : line,
      log: parserName(log_parser ?? null),
      logColumn: 'install_config.log_parser',
    };
  },
});

const Second = Identity.extend({ docker_image: MaybeText, base_commit: MaybeText });

export const sweRebench: SetReader = {
  ...sweRebenchFamily,
  issue: (row) => {
    const { environment, ...issue } = sweRebenchFamily.issue(row);
    const { docker_image, base_commit } = fields(Second, row);
    // Images of the second edition hold the repository in a directory of its name, at any commit.
    const isSecond = docker_image === null && 'image_name' in row.value;
    const place = isSecond ? { workdir: `/${issue.repo?.split('/')[1] ?? 'testbed'}`, base_commit } : {};
    return { ...issue, environment: { ...environment, ...place } };
  },
};

const Smith = Identity.extend({
  patch: z.string().min(1),
  image_name: MaybeText,
  FAIL_TO_PASS: Names,
  PASS_TO_PASS: Names,
});

/** SWE-smith: `patch` introduces the bug into a working repository, and its reverse is the answer. */
export const sweSmith: SetReader = {
  ...sweBench,
  set: 'swe-smith',
  recognises: (row) => 'instance_id' in row && 'image_name' in row && 'patch' in row && !('test_patch' in row),
  issue: (row) => {
    const { environment, ...issue } = sweBench.issue(row);
    const { image_name, patch, FAIL_TO_PASS } = fields(Smith, row);
    const image = image_name === null ? {} : { image: image_name };
    // As in its own harness: the solver does not see the tests that detect the bug.
    const hidden_paths = isPytest(FAIL_TO_PASS)
      ? [...new Set(FAIL_TO_PASS.flatMap((name) => name.split('::', 1)))]
      : [];
    return { ...issue, environment: { ...environment, ...image, setup_patch: patch, hidden_paths } };
  },
  sealed: (row) => {
    const { repo, patch, FAIL_TO_PASS: failToPass, PASS_TO_PASS: passToPass } = fields(Smith, row);
    const command = 'python3 -m pytest --disable-warnings --color=no --tb=no --verbose {files}';
    const tests = { repo, version: null, testPatch: null, failToPass, passToPass, command, log: 'pytest' } as const;
    requireTests(row, tests);
    if (isPytest([...failToPass, ...passToPass])) return { tests, gold: reversed(patch) };
    throw new BadInputError(
      'names no tests of pytest, and the row does not say how to run others.',
      placeOf(row, 'FAIL_TO_PASS'),
      'Only the Python instances of SWE-smith can be graded.',
    );
  },
};

/** Rows of other languages name functions, not files. */
function isPytest(names: readonly string[]): boolean {
  return names.some((name) => /\.py::/.test(name));
}

/** The patch that undoes another. */
function reversed(patch: string): string {
  return formatPatch(reversePatch(parsePatch(patch)));
}

/** Some rows contain a parser's source code instead of its name. */
function parserName(text: string | null): string | null {
  return text === null || /[\n(]/.test(text.trim()) ? null : text.trim();
}
