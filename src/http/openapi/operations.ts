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
    summary: 'Whether the process answers.',
    answers: { 200: json('Health', 'It does.') },
  },
  {
    id: 'ready',
    method: 'GET',
    path: '/readyz',
    summary: 'Whether the store answers and runs are accepted, what is missing beside it, and what waits.',
    query: ReadyQuery,
    answers: { 200: json('Readiness', 'They are; busy is ready.') },
    problems: {
      422: 'There is no such part to require.',
      503: 'Not now, or a required part is missing.',
      507: 'The machine is required, and low on disk.',
    },
  },
  {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    summary: 'What the process did and does, for Prometheus.',
    answers: { 200: { description: 'In its text format.', type: 'text/plain' } },
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
    answers: { 200: { description: 'HTML that loads nothing.', type: 'text/html' } },
  },
];

const audit: Operation = {
  id: 'listAudit',
  method: 'GET',
  path: '/v1/audit',
  summary: 'Who started, cancelled and deleted what, and what was refused, newest first, a page at a time.',
  query: AuditQuery,
  answers: { 200: json('Audit', 'A page.') },
  problems: { 422: 'The limit or the cursor is wrong.' },
};

const rescores: Operation = {
  id: 'rescore',
  method: 'POST',
  path: '/v1/rescores',
  summary: 'Send saved runs of any known format as JSON lines; each instance becomes a run.',
  query: RescoreQuery,
  body: { types: UPLOAD_TYPES },
  answers: { 202: json('RescoreAccepted', 'What became of the upload.') },
  problems: { 422: 'Nothing of it could be read, or it is too large.', 507: 'The disk is low; nothing was taken.' },
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
  'RunRequest.issue': 'The problem to solve and where its repository is.',
  'RunRequest.candidates': 'Patches to choose from; absent = sample k trajectories.',
  'RunRequest.candidates.instance_id': 'The issue’s, or absent.',
  'RunRequest.candidates.candidate_id': 'Unique within the run.',
  'RunRequest.candidates.patch': 'Unified diff against the base commit; empty = the agent changed nothing.',
  'RunRequest.candidates.trajectory': 'How the agent got there; judges may read it.',
  'RunRequest.candidates.trajectory.steps': 'In order.',
  'RunRequest.candidates.trajectory.steps.thought': 'What the agent wrote before it acted.',
  'RunRequest.candidates.trajectory.steps.action': 'The command or tool call.',
  'RunRequest.candidates.trajectory.steps.observation': 'What came back.',
  'RunRequest.candidates.trajectory.exit_reason': 'How the trajectory ended, e.g. `submitted`; null = unknown.',
  'RunRequest.k': 'Trajectories to sample (8). With candidates it must equal their number.',
  'RunRequest.k0': 'Sample this many first, then more until enough agree or k is reached; null = all k at once.',
  'RunRequest.refine':
    'So many trajectories more (0) once the first are verified, by agents that are told of the best; not with candidates.',
  'RunRequest.branch':
    'So many trajectories more (0) then that go on from a step of the most promising of the first; not with candidates.',
  'RunRequest.refine_from': 'P(right) that the best of the first must reach for either (0.3).',
  'RunRequest.seed': 'Another seed samples other trajectories.',
  'RunRequest.agent': 'Replaces settings of the sampling agent for this run.',
  'RunRequest.agents': 'Several agents that share the trajectories, in place of one; null = one.',
  'RunRequest.tests': 'Saved generated tests to use; null = have new ones written.',
  'RunRequest.tests.instance_id': 'The issue’s, or absent.',
  'RunRequest.tests.test_id': 'Unique within the run.',
  'RunRequest.tests.path': 'Where the test is written, from the working directory.',
  'RunRequest.tests.content': 'The file’s text.',
  'RunRequest.tests.observes':
    'Whether it only shows what the code does, so that candidates that show the same are one class.',
  'RunRequest.tests.expect': 'What each call of `observe` has to tell, in order; absent = the exit code says it.',
  'RunRequest.tests.files': 'Further files that it needs, by their place in the repository.',
  'RunRequest.tests.command': 'Shell command that runs it, from the repository’s root; absent = that of its language.',
  'RunRequest.tests.report': 'What the command reports; absent = as that of its language does.',
  'RunRequest.tests.angle': 'What its author was asked to look at above all; kept as it is.',
  'RunRequest.tests.kind': '`pass-to-pass` = holds on base, and must go on holding; absent = says "not solved" there.',
  'RunRequest.tests.author': 'Who wrote it; tests of one author count less together than apart.',
  'RunRequest.verifiers': 'Verifiers to run, by name; null = the service’s default.',
  'RunRequest.budget': 'Limits of what the run may take; null = none.',
  'RunRequest.name': 'Shown in lists and searched; nothing depends on it.',
  'RunRequest.tags': 'To find runs by; nothing depends on them.',
  preset: 'Selection rule: a shipped name or your own as {name, stages}; null = the default.',
  stages: 'Stages of your own rule, in order.',
  combiner: 'As `curves --save-combiner` writes it; for rules that go by `learned`.',
  calibration: 'As `bestk calibrate` writes it: likelihoods behind P(right); null = the shipped ones.',
  min_confidence: 'Return no patch whose confidence is below this, 0 to 1; null = always return one.',
  'RescoreRun.verifiers': 'Verifiers to run instead; absent = as before.',
  'Issue.instance_id': 'Identifies the issue, e.g. `owner__repo-123`.',
  'Issue.problem_statement': 'The issue’s text, as models see it.',
  'Issue.environment': 'Image and commands in which patches are verified.',
  'Environment.image': 'Docker image that holds the repository.',
  'Environment.workdir': 'The repository’s folder in the image (/testbed).',
  'Environment.base_commit': 'Commit to check out first; null = the image’s HEAD.',
  'Environment.regression_command':
    'Shell command of the existing tests; `{files}` and `{modules}` are replaced. Null = tests near the patches.',
  'Environment.regression_report': 'JUnit XML that the command writes, from the working directory.',
  'Environment.regression_files': 'Test files that the command is given.',
  'Environment.test_timeout_s': 'Seconds for one test, and for one run of the regression command (300).',
  'Environment.setup_patch': 'Git patch that turns what the image holds into the base.',
  'Environment.hidden_paths': 'Hidden tests and answers in the image; removed before anything runs.',
  'Budget.tokens': 'Input and output tokens together; null = no limit.',
  'Budget.usd': 'US dollars; null = no limit.',
  'Budget.seconds': 'Wall seconds of one execution; null = no limit.',
  'Preset.name': 'What the rule is called in results.',
  'Stage.stage': 'What the stage does.',
  'Stage.where': 'Condition that a candidate meets to be kept.',
  'Stage.by': 'Measure to go by.',
  'Stage.than': 'Keep candidates above this value.',
  'Stage.otherwise': 'If none is above: keep all, or return no patch.',
  'Stage.n': 'How many patches are kept.',
  'Stage.within': 'Values this close to the best are tied with it (0).',
  'Stage.of': 'Weighted terms to add up.',
  'Stage.of.by': 'Measure of the term, divided by what it counts up to.',
  'Stage.of.weight': 'Weight of the term.',
  'Stage.seed': 'Seed of the random pick.',
  kind: 'Tells this document from others.',
  version: 'Version of its format.',
  data_card: 'What it was fitted on, and how it did on repositories it had not seen.',
  from: 'Scores, rising.',
  to: 'Probabilities for these scores; linear between them.',
  'Combiner.features': 'Names of the features, in order.',
  'Combiner.means': 'Mean of each feature; an unknown one counts as it.',
  'Combiner.scales': 'Scale of each feature.',
  'Combiner.weights': 'Weight of each feature.',
  'Combiner.intercept': 'Added to the weighted features.',
  'Combiner.any': 'From the score to P(right) of any candidate.',
  'Combiner.returned': 'From the score to P(right) of the returned candidate.',
  'Combiner.abstain_below': 'No patch is returned unless its confidence is above this; null = always return one.',
  'Calibration.share': 'Beta distribution of the share of right patches in an issue.',
  'Calibration.judges': 'Likelihoods by measure of a judge.',
  'Calibration.judges.intercept': 'Of the log likelihood ratio.',
  'Calibration.judges.slope': 'By logit p.',
  'Calibration.existing_tests': 'Keeping existing tests that passed on the base.',
  'Calibration.generated_tests': 'Passing a telling test, by the test’s author; `*` = all others.',
  'Calibration.test_correlation': 'Of tests of one author on one patch, 0 to 1.',
  'Calibration.submitted': 'The agent submitted by itself.',
  right: 'Beta distribution of the rate for right patches.',
  wrong: 'Beta distribution of the rate for wrong patches.',
  'Calibration.returned': 'From P(right) of the returned patch to how often such a patch was right.',
  'Calibration.labels': 'Labelled patches behind each likelihood, right and wrong.',
  'Calibration.models': 'Models that judged and wrote tests in the data.',
  'DataCard.issues': 'Issues it was fitted on.',
  'DataCard.candidates': 'Candidates it was fitted on.',
  'DataCard.resolved': 'Of these, right ones.',
  'DataCard.repos': 'Repositories of the issues.',
  'DataCard.folds': 'Parts of the cross-validation.',
  'DataCard.auc': 'AUC on held-out repositories.',
  'DataCard.brier': 'Brier score on held-out repositories.',
  'DataCard.ece': 'Calibration error on held-out repositories.',
  'DataCard.picked_right': 'Share of issues whose held-out pick is right.',
  'DataCard.mean_confidence': 'Mean confidence given to these picks.',
  'RewardRequest.labels': 'What each query is judged by, in the order of `query`.',
  'VerifyRequest.responses_create_params': 'As NeMo Gym sends them; given back unchanged.',
  'VerifyRequest.response': 'The model’s response.',
  'CompareRequest.conversation_history': 'As NeMo Gym sends it; not read.',
  'CompareRequest.response_objs': 'The responses to compare.',
  output: 'Items of the response; the last diff in their text is the patch.',
  type: 'Kind of the item.',
  content: 'Text of the item, or parts with text.',
};

/** Descriptions of path and query parameters. */
const PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id of what is asked for, as it was answered or listed.',
  candidate_id: 'Id of a candidate of the run.',
  test_id: 'Id of a generated test of the run.',
  arm: 'Name of an arm of the benchmark.',
  base: 'Only what was executed on the base, without a patch.',
  suite: 'Only cells of this kind of test.',
  characters: 'Most characters of a text; longer ones are cut.',
  cursor: '`next_cursor` of the page before; absent = the first page.',
  limit: 'Most entries of the page.',
  from: 'Number of the first step.',
  image: 'Image for instances whose saved runs name none.',
  instance: 'Only runs of this instance.',
  measure: 'Of several judges, the one of this measure.',
  question: 'Of several questions about the candidate, the one of this number.',
  min_confidence: 'Return no patch whose confidence is below this, 0 to 1.',
  preset: 'Selection rule, by name.',
  presets: 'Rules of the report by comma, yours first, or `all`; absent = every rule with scores.',
  q: 'Letters that name, instance, id or a tag contain.',
  require: 'Parts that must be there too, by comma.',
  run_id: 'Only entries about this run.',
  sort: 'What to sort by; with a minus, largest first.',
  status: 'Only these statuses, by comma.',
  tag: 'Only runs with this tag.',
  timeout_s: 'Seconds to wait for the answer.',
  title: 'Title of the report.',
  verifiers: 'Verifiers to run, by comma; absent = the service’s default.',
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
