import { AuditQuery } from '../ops/audit.js';
import { ReadyQuery } from '../ops/health.controller.js';
import { RescoreQuery, runOperations, UPLOAD_TYPES } from '../runs/runs.controller.js';
import { json, JSON_TYPE, type Operation } from '../runs/run-views.js';
import { benchmarkOperations } from '../benchmarks/benchmarks.controller.js';
import { evidenceOperations } from '../runs/evidence.controller.js';
import { rewardOperations } from '../rewards/rewards.controller.js';
import { reportOperations } from '../reports/reports.controller.js';

const health: readonly Operation[] = [
  {
    id: 'live',
    method: 'GET',
    path: '/healthz',
    summary: 'Liveness: the process responds.',
    answers: { 200: json('Health', 'The process is alive.') },
  },
  {
    id: 'ready',
    method: 'GET',
    path: '/readyz',
    summary: 'Readiness: the store responds and runs are accepted; also lists missing parts and waiting work.',
    query: ReadyQuery,
    answers: { 200: json('Readiness', 'Ready; a busy service is ready.') },
    problems: {
      422: '`require` names an unknown part.',
      503: 'Not ready, or a required part is missing.',
      507: '`machine` is required and its disk is low.',
    },
  },
  {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics of the process, for Prometheus.',
    answers: { 200: { description: 'Prometheus text format.', type: 'text/plain' } },
  },
];

const documents: readonly Operation[] = [
  {
    id: 'openApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document.',
    answers: { 200: { description: 'OpenAPI 3.1.', type: JSON_TYPE } },
  },
  {
    id: 'docs',
    method: 'GET',
    path: '/docs',
    summary: 'This document as a page.',
    answers: { 200: { description: 'A self-contained HTML page.', type: 'text/html' } },
  },
];

const audit: Operation = {
  id: 'listAudit',
  method: 'GET',
  path: '/v1/audit',
  summary: 'Audit log: who started, cancelled and deleted what, and refused requests; newest first, paged.',
  query: AuditQuery,
  answers: { 200: json('Audit', 'One page of entries.') },
  problems: { 422: 'Invalid limit or cursor.' },
};

const rescores: Operation = {
  id: 'rescore',
  method: 'POST',
  path: '/v1/rescores',
  summary: 'Upload saved runs in any known format as JSON lines; each instance becomes a run.',
  query: RescoreQuery,
  body: { types: UPLOAD_TYPES },
  answers: { 202: json('RescoreAccepted', 'The runs created, and what was skipped.') },
  problems: { 422: 'Nothing could be read, or the upload is too large.', 507: 'The disk is low; nothing was stored.' },
};

/** Every route of the service: source of the document, of answers to wrong methods, and of the clients. */
export const operations: readonly Operation[] = [
  ...runOperations,
  ...evidenceOperations,
  ...reportOperations,
  ...benchmarkOperations,
  rescores,
  ...rewardOperations,
  audit,
  ...health,
  ...documents,
];

type Json = Record<string, unknown>;

/** Descriptions of request fields, by schema and path; a description in the schema itself takes precedence. */
const FIELDS: Readonly<Record<string, string>> = {
  'RunRequest.issue': 'The problem to solve, and the environment with its repository.',
  'RunRequest.candidates': 'Patches to choose from; absent = sample k trajectories.',
  'RunRequest.candidates.instance_id': 'Must equal the issue’s, if given.',
  'RunRequest.candidates.candidate_id': 'Unique within the run.',
  'RunRequest.candidates.patch': 'Unified diff against the base commit; empty = the agent changed nothing.',
  'RunRequest.candidates.trajectory': 'The steps of the agent; judges may read them.',
  'RunRequest.candidates.trajectory.steps': 'In order.',
  'RunRequest.candidates.trajectory.steps.thought': 'What the agent wrote before it acted.',
  'RunRequest.candidates.trajectory.steps.action': 'The command or tool call.',
  'RunRequest.candidates.trajectory.steps.observation': 'The output of the action.',
  'RunRequest.candidates.trajectory.exit_reason': 'How the trajectory ended, e.g. `submitted`; null = unknown.',
  'RunRequest.k': 'Trajectories to sample (8). With candidates it must equal their number.',
  'RunRequest.k0': 'Sample this many first, then more until enough agree or k is reached; null = all k at once.',
  'RunRequest.refine':
    'Number of further trajectories (0), sampled after the first are verified, by agents that see the best attempts; not with candidates.',
  'RunRequest.branch':
    'Number of further trajectories (0) after that, each continuing from a step of the most promising one; not with candidates.',
  'RunRequest.refine_from': 'Minimum P(right) of the best first trajectory for `refine` and `branch` (0.3).',
  'RunRequest.seed': 'A different seed samples different trajectories.',
  'RunRequest.agent': 'Replaces settings of the sampling agent for this run.',
  'RunRequest.agents': 'Several agents that share the trajectories; null = one agent.',
  'RunRequest.tests': 'Saved generated tests to use; null = a model writes new ones.',
  'RunRequest.tests.instance_id': 'Must equal the issue’s, if given.',
  'RunRequest.tests.test_id': 'Unique within the run.',
  'RunRequest.tests.path': 'Path of the test, relative to the working directory.',
  'RunRequest.tests.content': 'The file’s text.',
  'RunRequest.tests.observes':
    'True if the test only calls `observe` and judges nothing; candidates with equal observations form one class.',
  'RunRequest.tests.expect': 'Expected value of each call of `observe`, in order; absent = the exit code decides.',
  'RunRequest.tests.files': 'Further files that it needs, by path in the repository.',
  'RunRequest.tests.command':
    'Shell command that runs it, from the repository’s root; absent = the default for its language.',
  'RunRequest.tests.report': 'Format of the command’s report; absent = the default for its language.',
  'RunRequest.tests.angle': 'The focus its author was given; stored unchanged.',
  'RunRequest.tests.kind':
    '`pass-to-pass` = passes on base and must still pass; absent = reports "not solved" on base.',
  'RunRequest.tests.author': 'Author; several tests by one author count less than tests by different authors.',
  'RunRequest.verifiers': 'Verifiers to run, by name; null = the service’s default.',
  'RunRequest.budget': 'Limits of the run; null = none.',
  'RunRequest.name': 'Shown in lists and searchable; no effect on results.',
  'RunRequest.tags': 'For finding runs; no effect on results.',
  preset: 'Selection rule: a shipped name or your own as {name, stages}; null = the default.',
  stages: 'Stages of your own rule, in order.',
  combiner: 'Output of `curves --save-combiner`; for rules that use `learned`.',
  calibration: 'Output of `bestk calibrate`: the likelihoods behind P(right); null = the shipped ones.',
  min_confidence: 'Return no patch if its confidence is below this, 0 to 1; null = always return one.',
  'RescoreRun.verifiers': 'Verifiers to run instead; absent = the same as before.',
  'Issue.instance_id': 'Identifies the issue, e.g. `owner__repo-123`.',
  'Issue.problem_statement': 'The text of the issue, as shown to models.',
  'Issue.environment': 'Image and commands used to verify patches.',
  'Environment.image': 'Docker image with the repository.',
  'Environment.workdir': 'The repository’s folder in the image (/testbed).',
  'Environment.base_commit': 'Commit to check out first; null = the image’s HEAD.',
  'Environment.regression_command':
    'Shell command of the existing tests; `{files}` and `{modules}` are replaced. Null = tests near the patches.',
  'Environment.regression_report': 'JUnit XML file written by the command, relative to the working directory.',
  'Environment.regression_files': 'Test files passed to the command.',
  'Environment.test_timeout_s':
    'CPU seconds of each process of a test or of the regression command (300); the wall-clock limit is four times that.',
  'Environment.setup_patch': 'Git patch that turns the image’s repository into the base.',
  'Environment.hidden_paths': 'Hidden tests and answers in the image; removed before anything runs.',
  'Budget.tokens': 'Input and output tokens together; null = no limit.',
  'Budget.usd': 'US dollars; null = no limit.',
  'Budget.seconds': 'Wall seconds of one execution; null = no limit.',
  'Preset.name': 'Name of the rule in results.',
  'Stage.stage': 'Kind of stage.',
  'Stage.where': 'Condition for keeping a candidate.',
  'Stage.by': 'Measure to use.',
  'Stage.than': 'Keep candidates above this value.',
  'Stage.otherwise': 'If none is above: keep all, or return no patch.',
  'Stage.n': 'Number of patches to keep.',
  'Stage.within': 'Values this close to the best are tied with it (0).',
  'Stage.of': 'Weighted terms to add up.',
  'Stage.of.by': 'Measure of the term, divided by its maximum.',
  'Stage.of.weight': 'Weight of the term.',
  'Stage.seed': 'Seed of the random pick.',
  kind: 'Kind of document.',
  version: 'Version of its format.',
  data_card: 'Training data, and results on held-out repositories.',
  from: 'Scores, in increasing order.',
  to: 'Probabilities for these scores; linear between them.',
  'Combiner.features': 'Names of the features, in order.',
  'Combiner.means': 'Mean of each feature; used for unknown values.',
  'Combiner.scales': 'Scale of each feature.',
  'Combiner.weights': 'Weight of each feature.',
  'Combiner.intercept': 'Added to the weighted features.',
  'Combiner.any': 'Maps the score to P(right) of any candidate.',
  'Combiner.returned': 'Maps the score to P(right) of the returned candidate.',
  'Combiner.abstain_below': 'No patch is returned unless its confidence is above this; null = always return one.',
  'Calibration.share': 'Beta distribution of the share of right patches in an issue.',
  'Calibration.judges': 'Likelihoods by measure of a judge.',
  'Calibration.judges.intercept': 'Intercept of the log likelihood ratio.',
  'Calibration.judges.slope': 'Slope of the log likelihood ratio over logit p.',
  'Calibration.existing_tests': 'Rates at which patches pass the existing tests that pass on base.',
  'Calibration.generated_tests': 'Rates at which patches pass a telling test, by the test’s author; `*` = all others.',
  'Calibration.test_correlation': 'Correlation of tests by one author on one patch, 0 to 1.',
  'Calibration.submitted': 'Rates at which the agent submitted the patch itself.',
  right: 'Beta distribution of the rate for right patches.',
  wrong: 'Beta distribution of the rate for wrong patches.',
  'Calibration.returned': 'Maps P(right) of the returned patch to the observed share of right ones.',
  'Calibration.labels': 'Number of labelled patches behind each likelihood, right and wrong.',
  'Calibration.models': 'Models that judged or wrote tests in the data.',
  'DataCard.issues': 'Number of issues in the training data.',
  'DataCard.candidates': 'Number of candidates in the training data.',
  'DataCard.resolved': 'Number of these that are right.',
  'DataCard.repos': 'Names of the repositories.',
  'DataCard.folds': 'Number of cross-validation folds.',
  'DataCard.auc': 'AUC on held-out repositories.',
  'DataCard.brier': 'Brier score on held-out repositories.',
  'DataCard.ece': 'Calibration error on held-out repositories.',
  'DataCard.picked_right': 'Share of issues whose held-out pick is right.',
  'DataCard.mean_confidence': 'Mean confidence of these picks.',
  'RewardRequest.labels': 'The task of each query, in the order of `query`.',
  'VerifyRequest.responses_create_params': 'As sent by NeMo Gym; returned unchanged.',
  'VerifyRequest.response': 'The model’s response.',
  'CompareRequest.conversation_history': 'As sent by NeMo Gym; ignored.',
  'CompareRequest.response_objs': 'The responses to compare.',
  output: 'Items of the response; the last diff in the text of its messages is the patch.',
  type: 'Type of the item; only a `message` is read, which is also the default.',
  role: 'Role of the message; only those of the `assistant` are read, which is also the default.',
  content: 'Text of the item, or a list of parts with text.',
};

/** Descriptions of path and query parameters. */
const PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id, as returned on creation or in a list.',
  candidate_id: 'Id of a candidate of the run.',
  test_id: 'Id of a generated test of the run.',
  arm: 'Name of an arm of the benchmark.',
  base: 'Only executions on base, without a patch.',
  suite: 'Only cells of this kind of test.',
  characters: 'Maximum characters per text; longer texts are cut.',
  cursor: '`next_cursor` of the previous page; absent = the first page.',
  limit: 'Maximum number of entries.',
  from: 'Number of the first step.',
  image: 'Image for instances whose saved runs do not name one.',
  instance: 'Only runs of this instance.',
  measure: 'Selects the judge with this measure.',
  question: 'Selects one of several questions about the candidate, by number.',
  min_confidence: 'Return no patch whose confidence is below this, 0 to 1.',
  preset: 'Selection rule, by name.',
  presets: 'Rules of the report, comma-separated, yours first, or `all`; absent = every rule with scores.',
  q: 'Text contained in the name, instance, id or a tag.',
  require: 'Further required parts, comma-separated.',
  run_id: 'Only entries about this run.',
  sort: 'Sort key; a leading minus sorts in descending order.',
  status: 'Only these statuses, comma-separated.',
  tag: 'Only runs with this tag.',
  timeout_s: 'Maximum seconds to wait for the result.',
  title: 'Title of the report.',
  verifiers: 'Verifiers to run, comma-separated; absent = the service’s default.',
};

export function describeParameter(name: string): string | undefined {
  return Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
}

/** Adds the descriptions to a request's schema. */
export function describeFields(schema: Json, at: string): void {
  for (const [name, field] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) {
    const said = FIELDS[`${at}.${name}`] ?? FIELDS[name];
    if (said !== undefined) field.description ??= said;
    describeFields(field, `${at}.${name}`);
  }
  const inside = [schema.anyOf, schema.oneOf, schema.allOf, schema.items, schema.additionalProperties].flat();
  for (const each of inside) if (typeof each === 'object' && each !== null) describeFields(each as Json, at);
}
