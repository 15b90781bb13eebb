import { z } from 'zod';
import { grouped } from '../../core/grouped.js';
import { sha256 } from '../../core/identifier.js';
import { type PatchFile, readPatch } from '../../core/patch/patch.js';
import type { Candidate } from '../../core/run/candidate.js';
import { candidateOf, type Rollout, tokensOf } from '../../core/run/rollout.js';
import { measuresShown, REPRODUCTION, toldClasses, type Verdict } from '../../core/run/verdict.js';
import { RunRequest } from '../../core/run/run-request.js';
import { RunResult } from '../../core/run/run-result.js';
import type { Run } from '../../ports/run-store.js';
import { type CandidateEvidence, CellView, type EvidenceView, type PatchView } from './evidence-view.js';

/** A parsed run: its request, its result (null until it is done), and the candidates known so far. */
export interface OpenedRun {
  readonly run: Run;
  readonly request: RunRequest;
  readonly result: RunResult | null;
  readonly candidates: readonly Candidate[];
}

export function openRun(run: Run): OpenedRun {
  const request = RunRequest.parse(run.request);
  const result = run.result === null ? null : RunResult.parse(run.result);
  return { run, request, result, candidates: request.candidates ?? result?.rollouts.map(candidateOf) ?? [] };
}

export function evidenceOf({ run, request, result, candidates }: OpenedRun): EvidenceView {
  const { id, status, created_at, updated_at, failure } = run;
  const { issue, k, preset, verifiers, seed } = request;
  const tests = request.tests ?? result?.tests ?? [];
  return {
    run: { id, status, created_at, updated_at, failure },
    request: { issue, k, preset, verifiers, seed, given: request.candidates !== null },
    ...answerOf(result),
    measures: [...measuresShown(result?.measures ?? [])],
    candidates: candidates
      .map((candidate) => candidateEvidence(candidate, result, issue.problem_statement))
      .sort((a, b) => (a.rank ?? candidates.length + 1) - (b.rank ?? candidates.length + 1)),
    tests: tests.map(({ test_id, path, author }) => ({ test_id, path, author })),
  };
}

function answerOf(
  result: RunResult | null,
): Omit<EvidenceView, 'run' | 'request' | 'measures' | 'candidates' | 'tests'> {
  if (result === null) {
    const nothing = { selection: null, statistics: null, usage: null, provenance: null, sampling: null };
    return { ...nothing, admissions: [], test_quality: [], cells: [], behaviours: [] };
  }
  const { ranking, ...selection } = result.selection;
  const { statistics, usage, provenance, sampling, admissions, test_quality } = result;
  return {
    ...{ selection, statistics, usage, provenance, sampling, admissions, test_quality },
    cells: result.cells.map((cell) => CellView.parse(cell)),
    behaviours: behavioursOf(
      ranking.map(({ candidate_id }) => candidate_id),
      result.verdicts,
    ),
  };
}

function candidateEvidence(
  { candidate_id, trajectory, patch }: Candidate,
  result: RunResult | null,
  statement: string,
): CandidateEvidence {
  const isIts = (of: { candidate_id: string }): boolean => of.candidate_id === candidate_id;
  const { rank, scores, p_right, log_odds, flags } = result?.selection.ranking.find(isIts) ?? UNRANKED;
  return {
    ...{ candidate_id, rank, scores, p_right, log_odds, flags },
    exit_reason: trajectory?.exit_reason ?? null,
    steps: trajectory?.steps.length ?? 0,
    ...effortOf(result?.rollouts.find(isIts)),
    patch: patchView(patch, statement),
    verdicts: result?.verdicts.filter(isIts) ?? [],
  };
}

const UNRANKED = { rank: null, scores: {}, p_right: null, log_odds: {}, flags: [] };

function effortOf(rollout: Rollout | undefined): Pick<CandidateEvidence, 'model' | 'tokens' | 'seconds'> {
  if (rollout === undefined) return { model: null, tokens: null, seconds: null };
  const { input_tokens, output_tokens } = tokensOf(rollout.steps);
  const seconds = rollout.steps.reduce((sum, { llm_s, env_s }) => sum + llm_s + env_s, 0);
  return { model: rollout.model, tokens: input_tokens + output_tokens, seconds };
}

function behavioursOf(ranked: readonly string[], verdicts: readonly Verdict[]): EvidenceView['behaviours'] {
  const told = new Map(toldClasses(verdicts).flatMap((each) => each.candidate_ids.map((id) => [id, each] as const)));
  const solvedBy = new Map(
    verdicts.flatMap((verdict) => {
      if (verdict.measure !== REPRODUCTION.name) return [];
      const { data } = z.array(z.string()).safeParse(verdict.kind === 'scored' ? verdict.evidence.solved : undefined);
      return data === undefined && !told.has(verdict.candidate_id) ? [] : [[verdict.candidate_id, data ?? []] as const];
    }),
  );
  const known = ranked.flatMap((id) => {
    const solved = solvedBy.get(id);
    return solved === undefined ? [] : [{ id, solved, own: told.get(id) }];
  });
  const classes = grouped(known, ({ solved, own }) => JSON.stringify([solved, own?.class ?? null]));
  return [...classes.values()].map((members) => ({
    solved: members[0]?.solved ?? [],
    candidate_ids: members.map(({ id }) => id),
    told: [...(members[0]?.own?.told ?? [])],
  }));
}

/** Parsing a larger patch would block other requests for more than a tenth of a second. */
const LARGEST_READ = 256 * 1024;

/**
 * A patch's files with line counts, without its text.
 * @param statement of the issue
 */
export function patchView(text: string, statement = ''): PatchView {
  const known = { characters: text.length, sha256: sha256(text), problem: null, files: [] };
  if (text.length > LARGEST_READ) return known;
  const patch = readPatch(text, statement);
  if (patch.kind === 'empty') return { ...known, sha256: null };
  if (patch.kind === 'refused') return { ...known, problem: `${patch.reason}: ${patch.detail}` };
  return { ...known, files: patch.files.map(fileView) };
}

function fileView({ path, role, text, parsed }: PatchFile): PatchView['files'][number] {
  if (/^(GIT binary patch|Binary files .* differ)$/m.test(text) && parsed.hunks.length === 0) {
    return { path, role, added: null, removed: null };
  }
  const lines = parsed.hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length;
  return { path, role, added: count('+'), removed: count('-') };
}
