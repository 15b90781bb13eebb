import { z } from 'zod';
import { Cell, GeneratedTest, TestQuality } from '../../core/run/generated-test.js';
import { Measure, Verdict } from '../../core/run/verdict.js';
import { Issue } from '../../core/run/issue.js';
import { Admission } from '../../core/run/verifier.js';
import { Provenance, RankedCandidate, RunStatistics, Sampling, Selection, Usage } from '../../core/run/run-result.js';
import { Run } from '../../ports/run-store.js';
import type { RunLabels } from '../../runs/benchmark-service.js';

/** Line counts of one file in a patch; null if the file is binary. */
export const PatchFileView = z.object({
  path: z.string(),
  role: z.string(),
  added: z.int().nullable(),
  removed: z.int().nullable(),
});

/**
 * A patch without its text. `problem` is the reason why it was refused; then there are no files, and neither are there of
 * a patch too large to be listed.
 */
export const PatchView = z.object({
  characters: z.int(),
  /** Of the text; null if the patch is empty. */
  sha256: z.string().nullable(),
  problem: z.string().nullable(),
  files: z.array(PatchFileView),
});
export type PatchView = z.infer<typeof PatchView>;

const { environment, ...issue } = Issue.shape;

/** The parsed issue: optional fields of a request are present. */
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

/** Labels of the candidates. */
export type LabelsView = RunLabels;

/**
 * Everything about one candidate except its texts. Rank, P(right), scores and flags are null or empty until the run is done.
 */
export const CandidateEvidence = z.object({
  candidate_id: z.string(),
  rank: RankedCandidate.shape.rank.nullable(),
  scores: RankedCandidate.shape.scores,
  p_right: RankedCandidate.shape.p_right,
  log_odds: RankedCandidate.shape.log_odds,
  flags: RankedCandidate.shape.flags,
  /** For sampled candidates. */
  model: z.string().nullable(),
  exit_reason: z.string().nullable(),
  steps: z.int(),
  tokens: z.int().nullable(),
  seconds: z.number().nullable(),
  patch: PatchView,
  verdicts: z.array(Verdict),
});
export type CandidateEvidence = z.infer<typeof CandidateEvidence>;

/** A cell of the matrix without its log; `GET …/cells` returns it in full. */
export const CellView = Cell.omit({ instance_id: true, log_tail: true, lost: true });
export type CellView = z.infer<typeof CellView>;

/** Candidates that solved the same generated tests and showed the same values in observing tests; best rank first. */
export const BehaviourClass = z.object({
  solved: z.array(z.string()),
  candidate_ids: z.array(z.string()),
  /** Values they showed in the tests that distinguish candidates. */
  told: z.array(z.object({ test_id: z.string(), value: z.string(), as_base: z.boolean() })),
});

/** The evidence behind a decision, without patches, trajectories and logs. */
export const EvidenceView = z.object({
  run: Run.omit({ request: true, result: true }),
  request: z.object({
    issue: IssueView,
    k: z.int(),
    preset: z.string(),
    /** Null = the service's default. */
    verifiers: z.array(z.string()).nullable(),
    seed: z.int(),
    /** Whether the candidates came with the request; otherwise bestk samples them. */
    given: z.boolean(),
  }),
  /** The following fields are null or empty until the run is done, except for candidates that came with the request. */
  selection: Selection.omit({ ranking: true }).nullable(),
  statistics: RunStatistics.nullable(),
  usage: Usage.nullable(),
  provenance: Provenance.nullable(),
  sampling: Sampling.nullable(),
  /** The measures of the candidates, in display order. */
  measures: z.array(Measure),
  candidates: z.array(CandidateEvidence),
  tests: z.array(TestView.omit({ content: true, expect: true, instance_id: true })),
  admissions: z.array(Admission),
  test_quality: z.array(TestQuality),
  cells: z.array(CellView),
  behaviours: z.array(BehaviourClass),
});
export type EvidenceView = z.infer<typeof EvidenceView>;
