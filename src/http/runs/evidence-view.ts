import { z } from 'zod';
import { Cell, GeneratedTest, TestQuality } from '../../core/run/generated-test.js';
import { Measure, Verdict } from '../../core/run/verdict.js';
import { Issue } from '../../core/run/issue.js';
import { Admission } from '../../core/run/verifier.js';
import { Provenance, RankedCandidate, RunStatistics, Sampling, Selection, Usage } from '../../core/run/run-result.js';
import { Run } from '../../ports/run-store.js';
import type { RunLabels } from '../../runs/benchmark-service.js';

/** One file of a patch by its counts; null where the file is binary. */
export const PatchFileView = z.object({
  path: z.string(),
  role: z.string(),
  added: z.int().nullable(),
  removed: z.int().nullable(),
});

/** A patch without its text. `problem` says why it is not read further; then there are no files. */
export const PatchView = z.object({
  characters: z.int(),
  problem: z.string().nullable(),
  files: z.array(PatchFileView),
});
export type PatchView = z.infer<typeof PatchView>;

const { environment, ...issue } = Issue.shape;

/** The issue as it was read: what a request may leave out is there. */
const IssueView = z.object({
  ...issue,
  environment: z.object({
    ...environment.shape,
    base_commit: z.string().nullable(),
    regression_command: z.string().nullable(),
    regression_report: z.string().nullable(),
    setup_patch: z.string().nullable(),
  }),
});

/** A generated test with its source. */
export const TestView = GeneratedTest.extend({ author: z.string().nullable() });
export type TestView = z.infer<typeof TestView>;

/** Whether candidates are right. */
export type LabelsView = RunLabels;

/** Everything about one candidate but its texts. Rank, P(right), scores and flags are null and empty until the run is done. */
export const CandidateEvidence = z.object({
  candidate_id: z.string(),
  rank: RankedCandidate.shape.rank.nullable(),
  scores: RankedCandidate.shape.scores,
  p_right: RankedCandidate.shape.p_right,
  log_odds: RankedCandidate.shape.log_odds,
  flags: RankedCandidate.shape.flags,
  /** Of a sampled candidate. */
  model: z.string().nullable(),
  exit_reason: z.string().nullable(),
  steps: z.int(),
  tokens: z.int().nullable(),
  seconds: z.number().nullable(),
  patch: PatchView,
  verdicts: z.array(Verdict),
});
export type CandidateEvidence = z.infer<typeof CandidateEvidence>;

/** A cell of the matrix without its log; `GET …/cells` gives it whole. */
export const CellView = Cell.omit({ instance_id: true, log_tail: true, lost: true });
export type CellView = z.infer<typeof CellView>;

/** Candidates that solved exactly the same generated tests, and told the same where they were observed; best rank first. */
export const BehaviourClass = z.object({
  solved: z.array(z.string()),
  candidate_ids: z.array(z.string()),
  /** What they told in the tests that split the candidates. */
  told: z.array(z.object({ test_id: z.string(), value: z.string(), as_base: z.boolean() })),
});

/** Why this patch: everything a decision was made of, without patches, trajectories and logs. */
export const EvidenceView = z.object({
  run: Run.omit({ request: true, result: true }),
  request: z.object({
    issue: IssueView,
    k: z.int(),
    preset: z.string(),
    /** Null = the service's default. */
    verifiers: z.array(z.string()).nullable(),
    seed: z.int(),
    /** Whether the candidates came with the request; else bestk samples them. */
    given: z.boolean(),
  }),
  /** What follows is null or empty until the run is done; candidates that came with the request are there before. */
  selection: Selection.omit({ ranking: true }).nullable(),
  statistics: RunStatistics.nullable(),
  usage: Usage.nullable(),
  provenance: Provenance.nullable(),
  sampling: Sampling.nullable(),
  /** What the candidates are scored by, in the order in which it is shown. */
  measures: z.array(Measure),
  candidates: z.array(CandidateEvidence),
  tests: z.array(TestView.omit({ content: true, expect: true, instance_id: true })),
  admissions: z.array(Admission),
  test_quality: z.array(TestQuality),
  cells: z.array(CellView),
  behaviours: z.array(BehaviourClass),
});
export type EvidenceView = z.infer<typeof EvidenceView>;
