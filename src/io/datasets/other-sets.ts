import { z } from 'zod';
import { Issue, repositoryOf } from '../../core/run/issue.js';
import { BadInputError } from '../../core/errors/errors.js';
import { quoted } from '../../core/hostile-text.js';
import { placeOf } from '../records/records.js';
import { fields, type HiddenRow, MaybeText, Names, type SetReader, unpackedJson } from './set-reader.js';
import { requireTests, sweBench } from './swe-bench-sets.js';

const Own = Issue.pick({ instance_id: true, problem_statement: true }).extend({
  repo: MaybeText,
  environment: z.preprocess(unpackedJson, z.record(z.string(), z.json(), 'must be an object')),
});

/** bestk's own issues, with or without hidden tests in SWE-bench's columns. */
export const bestkIssues: SetReader = {
  set: 'bestk',
  recognises: (row) => 'instance_id' in row && 'environment' in row && !('install_config' in row),
  columns: { ...sweBench.columns, environment: 'issue' },
  issue: (row) => {
    const { instance_id, problem_statement, repo, environment } = fields(Own, row);
    return { instance_id, problem_statement, repo: repo ?? repositoryOf(instance_id), environment };
  },
  sealed: (row) => sweBench.sealed(row),
};

const ProIssue = z.object({
  instance_id: z.string().min(1),
  repo: z.string().regex(/^[^/]+\/[^/]+$/, 'must be owner/name'),
  base_commit: MaybeText,
  problem_statement: z.string(),
  requirements: MaybeText,
  interface: MaybeText,
  dockerhub_tag: MaybeText,
});
const ProAnswer = z.object({
  repo: z.string(),
  patch: MaybeText,
  test_patch: MaybeText,
  fail_to_pass: Names.optional(),
  pass_to_pass: Names.optional(),
  FAIL_TO_PASS: Names.optional(),
  PASS_TO_PASS: Names.optional(),
  selected_test_files_to_run: Names,
});
const LONGEST_TAG = 128;

/** SWE-bench Pro. Its test scripts are not in the rows but in `run_scripts/` of its repository. */
export const sweBenchPro: SetReader = {
  set: 'swe-bench-pro',
  recognises: (row) =>
    'instance_id' in row &&
    ['dockerhub_tag', 'before_repo_set_cmd', 'selected_test_files_to_run'].some((column) => column in row),
  columns: {
    instance_id: 'issue',
    repo: 'issue',
    base_commit: 'issue',
    problem_statement: 'issue',
    requirements: 'issue',
    interface: 'issue',
    dockerhub_tag: 'issue',
    repo_language: 'filter',
    issue_specificity: 'filter',
    issue_categories: 'filter',
    patch: 'sealed',
    test_patch: 'sealed',
    fail_to_pass: 'sealed',
    pass_to_pass: 'sealed',
    FAIL_TO_PASS: 'sealed',
    PASS_TO_PASS: 'sealed',
    before_repo_set_cmd: 'sealed',
    selected_test_files_to_run: 'sealed',
    base_dockerfile: 'unused',
    instance_dockerfile: 'unused',
  },
  issue: (row) => {
    const { instance_id, repo, base_commit, dockerhub_tag, ...said } = fields(ProIssue, row);
    const parts = [
      said.problem_statement,
      said.requirements === null ? '' : `Requirements:\n${said.requirements}`,
      said.interface === null ? '' : `New interfaces introduced:\n${said.interface}`,
    ];
    const image = `jefzda/sweap-images:${dockerhub_tag ?? proTag(instance_id, repo)}`;
    const environment = { image, workdir: '/app', base_commit };
    return { instance_id, repo, problem_statement: parts.filter((part) => part !== '').join('\n\n'), environment };
  },
  sealed: (row) => {
    const { repo, patch, test_patch, selected_test_files_to_run: selected, ...names } = fields(ProAnswer, row);
    const failToPass = names.fail_to_pass ?? names.FAIL_TO_PASS ?? [];
    const passToPass = names.pass_to_pass ?? names.PASS_TO_PASS ?? [];
    const command = [
      `bash {scripts}/run_script.sh ${quoted(selected.join(','))} >{scripts}/out.log 2>{scripts}/err.log; ended=$?`,
      'python3 {scripts}/parser.py {scripts}/out.log {scripts}/err.log {scripts}/results.json',
      'echo; cat {scripts}/results.json; exit $ended',
    ].join('\n');
    const tests: HiddenRow = {
      ...{ repo, version: null, testPatch: test_patch, failToPass, passToPass },
      ...{ command, log: 'json' },
    };
    return { tests: requireTests(row, tests), gold: patch };
  },
};

/** Image tag as its own scripts derive it (`helper_code/image_uri.py`). */
function proTag(id: string, repo: string): string {
  const [owner = '', name = ''] = repo.toLowerCase().split('/');
  const isElement = owner === 'element-hq' && name === 'element-web';
  const known = id.replace(/^instance_/, '');
  const keeps = known === 'element-hq__element-web-ec0f940ef0e8e3b61078f145f34dc40d1938e6c5-vnan';
  const tag = `${owner}.${isElement && !keeps ? 'element' : name}-${keeps ? known : known.replace(/-vnan$/, '')}`;
  return tag.slice(0, LONGEST_TAG);
}

const R2eIssue = z.object({ docker_image: z.string().min(1), repo_name: MaybeText, problem_statement: z.string() });
const R2eAnswer = z.object({
  docker_image: z.string(),
  repo_name: MaybeText,
  expected_output_json: z.preprocess(unpackedJson, z.record(z.string(), z.string()).nullish()),
});
const TAGGED = ['[ISSUE]', '[/ISSUE]'] as const;

/** R2E-Gym: an instance is its image, which contains the hidden tests and a script to run them. */
export const r2eGymSet: SetReader = {
  set: 'r2e-gym',
  recognises: (row) => 'docker_image' in row && !('instance_id' in row),
  columns: {
    docker_image: 'issue',
    problem_statement: 'issue',
    repo_name: 'filter',
    num_non_test_files: 'filter',
    num_non_test_func_methods: 'filter',
    num_non_test_lines: 'filter',
    commit_hash: 'sealed',
    parsed_commit_content: 'sealed',
    parsed_commit: 'sealed',
    execution_result_content: 'sealed',
    expected_output_json: 'sealed',
    modified_files: 'sealed',
    modified_entity_summaries: 'sealed',
    relevant_files: 'sealed',
    prompt: 'sealed',
    run_tests_regression: 'sealed',
  },
  issue: (row) => {
    const { docker_image: image, repo_name: repo, problem_statement } = fields(R2eIssue, row);
    const environment = { image, hidden_paths: ['/r2e_tests', '/root/r2e_tests'] };
    return { instance_id: image, repo, problem_statement: untagged(problem_statement), environment };
  },
  sealed: (row) => {
    const { repo_name: repo, expected_output_json: expected } = fields(R2eAnswer, row);
    if (expected === null || expected === undefined) return { tests: null, gold: null };
    // Its reward compares all outcomes. Tests that fail for the authors too demand nothing of a patch: left out.
    const failToPass = Object.entries(expected).flatMap(([name, status]) => (status === 'PASSED' ? [name] : []));
    // A link over a patch's own folder of this name would be put into it, beside tests of the patch.
    const command = 'rm -rf r2e_tests && ln -s /r2e_tests r2e_tests && bash run_tests.sh';
    const tests = { repo, version: null, testPatch: null, failToPass, passToPass: [], command, log: 'pytest' } as const;
    return { tests: requireTests(row, tests), gold: null };
  },
};

function untagged(statement: string): string {
  const [begin, end] = [statement.indexOf(TAGGED[0]), statement.lastIndexOf(TAGGED[1])];
  return begin === -1 || end < begin ? statement : statement.slice(begin + TAGGED[0].length, end).trim();
}

const Outcomes = z.preprocess(unpackedJson, z.record(z.string(), z.unknown()).nullish());

/** A list of records, also if it was saved as a record of lists, as Hugging Face's `datasets` does. */
function rowsOfColumns(packed: unknown): unknown {
  const value = unpackedJson(packed);
  const columns = z.record(z.string(), z.array(z.unknown())).safeParse(value);
  if (!columns.success) return value;
  const lists = Object.entries(columns.data);
  const rows = lists.reduce((most, [, list]) => Math.max(most, list.length), 0);
  return Array.from({ length: rows }, (_, row) => Object.fromEntries(lists.map(([name, list]) => [name, list[row]])));
}

const MultiIssue = z.object({
  instance_id: MaybeText,
  org: z.string().min(1),
  repo: z.string().min(1),
  number: z.coerce.number().int(),
  resolved_issues: z.preprocess(rowsOfColumns, z.array(z.object({ title: MaybeText, body: MaybeText }))),
});
const MultiAnswer = z.object({
  org: z.string(),
  repo: z.string(),
  lang: MaybeText,
  fix_patch: MaybeText,
  test_patch: MaybeText,
  fixed_tests: Outcomes,
  f2p_tests: Outcomes,
  s2p_tests: Outcomes,
  n2p_tests: Outcomes,
  p2p_tests: Outcomes,
});

/**
 * Multi-SWE-bench: pull requests in many languages. Its images hold the answer in `/home`, and a script that runs the
 * tests.
 */
export const multiSweBench: SetReader = {
  set: 'multi-swe-bench',
  recognises: (row) => 'org' in row && 'number' in row && 'resolved_issues' in row,
  columns: {
    instance_id: 'issue',
    org: 'issue',
    repo: 'issue',
    number: 'issue',
    resolved_issues: 'issue',
    lang: 'filter',
    language: 'filter',
    state: 'unused',
    base: 'unused',
    tag: 'unused',
    number_interval: 'unused',
    title: 'sealed',
    body: 'sealed',
    fix_patch: 'sealed',
    test_patch: 'sealed',
    fixed_tests: 'sealed',
    p2p_tests: 'sealed',
    f2p_tests: 'sealed',
    s2p_tests: 'sealed',
    n2p_tests: 'sealed',
    run_result: 'sealed',
    test_patch_result: 'sealed',
    fix_patch_result: 'sealed',
    hints: 'sealed',
    commits: 'sealed',
  },
  issue: (row) => {
    const { instance_id, org, repo, number, resolved_issues } = fields(MultiIssue, row);
    const problem_statement = resolved_issues
      .map(({ title, body }) => [title, body].filter((part) => part !== null).join('\n\n'))
      .join('\n\n');
    if (problem_statement === '') throw new BadInputError('tells no issue.', placeOf(row, 'resolved_issues'));
    const environment = {
      image: `mswebench/${org}_m_${repo}:pr-${number}`.toLowerCase(),
      workdir: `/home/${repo}`,
      hidden_paths: ['/home/fix.patch', '/home/test.patch'],
    };
    const id = instance_id ?? `${org}__${repo}-${number}`;
    return { instance_id: id, repo: `${org}/${repo}`, problem_statement, environment };
  },
  sealed: (row) => {
    const { org, repo, lang, fix_patch, test_patch, p2p_tests, ...turned } = fields(MultiAnswer, row);
    // When rows are saved as columns, every row names the tests of all rows, with null for those of others.
    const names = (tests: Record<string, unknown> | null | undefined): string[] =>
      Object.entries(tests ?? {}).flatMap(([name, outcomes]) => (outcomes === null ? [] : [name]));
    const failToPass = [turned.f2p_tests, turned.s2p_tests, turned.n2p_tests].flatMap(names);
    const tests: HiddenRow = {
      repo: `${org}/${repo}`,
      version: null,
      testPatch: test_patch,
      failToPass: failToPass.length > 0 ? failToPass : names(turned.fixed_tests),
      passToPass: names(p2p_tests),
      command: 'bash /home/run.sh',
      log: lang ?? formatOfMostFiles(fix_patch ?? ''),
      logColumn: 'lang',
    };
    return { tests: requireTests(row, tests), gold: fix_patch };
  },
};

/** Formats of logs, by the extensions of the files that their runners test. */
const ENDINGS: Readonly<Record<string, string>> = {
  ...{ go: 'go', rs: 'cargo', java: 'java', kt: 'java', scala: 'scala', py: 'pytest' },
  ...{ js: 'javascript', jsx: 'javascript', mjs: 'javascript', cjs: 'javascript', vue: 'javascript' },
  ...{ ts: 'javascript', tsx: 'javascript', svelte: 'javascript' },
  ...{ c: 'ctest', h: 'ctest', cc: 'ctest', cpp: 'ctest', hpp: 'ctest', cxx: 'ctest' },
  ...{ php: 'php', rb: 'ruby', cs: 'csharp', swift: 'swift' },
};

/** The published rows do not state their language, their folders do: the log of most files in a patch. */
function formatOfMostFiles(patch: string): string | null {
  const counts = new Map<string, number>();
  for (const [, ending = ''] of patch.matchAll(/^\+\+\+ b\/.*\.(\w+)\s*$/gm)) {
    const format = Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined;
    if (format !== undefined) counts.set(format, (counts.get(format) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}
