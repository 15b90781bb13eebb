import { z } from 'zod';
import { submitted, type Candidate } from '../core/run/candidate.js';
import { patchSize, readPatch, splitPatch } from '../core/patch/patch.js';
import { fingerprint } from '../core/patch/fingerprint.js';
import { candidateOf } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { RunResult } from '../core/run/run-result.js';
import type { Measure, Verdict } from '../core/run/verdict.js';
import type { Entry } from '../../verifiers/hybrid/entry.js';

/** One candidate as the hybrid sees it, with what a reader should know about it. */
export interface Described {
  readonly entry: Entry;
  readonly flags: readonly string[];
}

/** Facts of the patches joined with the verdicts, by candidate id; order of the candidates is kept. */
export function describeCandidates(
  candidates: readonly Candidate[],
  verdicts: readonly Verdict[],
): readonly Described[] {
  const byCandidate = groupByCandidate(verdicts);
  const firstWith = new Map<string, string>();
  return candidates.map((candidate) => {
    const own = byCandidate.get(candidate.candidate_id) ?? [];
    const facts = patchFacts(candidate.patch);
    const twin = facts.fingerprint === null ? undefined : firstWith.get(facts.fingerprint);
    if (facts.fingerprint !== null && twin === undefined) firstWith.set(facts.fingerprint, candidate.candidate_id);
    const entry = entryOf(candidate, facts, own);
    return {
      entry,
      flags: [
        ...facts.flags,
        ...(doesNotApply(own) ? ['does-not-apply'] : []),
        ...(entry.finished === false ? ['not-submitted'] : []),
        ...(twin === undefined ? [] : [`same-patch-as:${twin}`]),
        ...(own.some(({ evidence }) => evidence.disagrees === true) ? ['judge-disagrees-without-thoughts'] : []),
        ...own.flatMap((verdict) => (isGap(verdict) ? [`abstained:${verdict.measure}:${verdict.reason}`] : [])),
      ],
    };
  });
}

/** The candidates of a run with its verdicts, as its stages saw them. */
export function entriesOfRun(
  { candidates }: Pick<RunRequest, 'candidates'>,
  { rollouts, verdicts }: Pick<RunResult, 'rollouts' | 'verdicts'>,
): Entry[] {
  return describeCandidates(candidates ?? rollouts.map(candidateOf), verdicts).map(({ entry }) => entry);
}

function entryOf(candidate: Candidate, facts: PatchFacts, own: readonly Verdict[]): Entry {
  return {
    id: candidate.candidate_id,
    ...measured(own),
    patch_size: facts.size,
    fingerprint: facts.fingerprint,
    has_source_change: facts.hasSourceChange,
    applies: facts.refused || doesNotApply(own) ? false : appliedOf(own),
    finished: finishedOf(candidate),
    steps: candidate.trajectory?.steps.length ?? null,
  };
}

function doesNotApply(verdicts: readonly Verdict[]): boolean {
  return verdicts.some((verdict) => verdict.kind === 'abstained' && verdict.reason === 'does-not-apply');
}

function groupByCandidate(verdicts: readonly Verdict[]): ReadonlyMap<string, readonly Verdict[]> {
  const groups = new Map<string, Verdict[]>();
  for (const verdict of verdicts) {
    const group = groups.get(verdict.candidate_id);
    if (group === undefined) groups.set(verdict.candidate_id, [verdict]);
    else group.push(verdict);
  }
  return groups;
}

interface PatchFacts {
  readonly hasSourceChange: boolean;
  readonly refused: boolean;
  readonly size: number | null;
  readonly fingerprint: string | null;
  readonly flags: readonly string[];
}

function patchFacts(text: string): PatchFacts {
  const patch = readPatch(text);
  const nothing = { hasSourceChange: false, refused: false, size: null, fingerprint: null };
  if (patch.kind === 'empty') return { ...nothing, flags: ['empty-patch'] };
  if (patch.kind === 'refused') {
    return { ...nothing, hasSourceChange: true, refused: true, flags: [`refused-patch:${patch.reason}`] };
  }
  const { source, setApart } = splitPatch(patch);
  const roles = [...new Set(setApart.map(({ role }) => `${role}-files-set-apart`))];
  if (source === '') return { ...nothing, flags: ['no-source-change', ...roles] };
  return {
    hasSourceChange: true,
    refused: false,
    size: patchSize(patch),
    fingerprint: fingerprint(patch),
    flags: roles,
  };
}

function scoreOf(verdicts: readonly Verdict[], measure: Measure): number | null {
  const verdict = verdicts.find((each) => each.measure === measure);
  return verdict?.kind === 'scored' ? verdict.score : null;
}

type Measured = Pick<
  Entry,
  | 'execution_free'
  | 'regression'
  | 'reproduction'
  | 'regression_out_of'
  | 'reproduction_out_of'
  | 'behaviour'
  | 'solved'
>;

function measured(verdicts: readonly Verdict[]): Measured {
  return {
    execution_free: scoreOf(verdicts, 'execution_free'),
    regression: scoreOf(verdicts, 'regression'),
    reproduction: scoreOf(verdicts, 'reproduction'),
    regression_out_of: outOf(verdicts, 'regression'),
    reproduction_out_of: outOf(verdicts, 'reproduction'),
    ...behaviourOf(verdicts),
  };
}

function outOf(verdicts: readonly Verdict[], measure: Measure): number | null {
  const verdict = verdicts.find((each) => each.measure === measure);
  return verdict?.kind === 'scored' ? verdict.out_of : null;
}

/** Which generated tests it solved; `behaviour` is equal for candidates that solved exactly the same. */
function behaviourOf(verdicts: readonly Verdict[]): Pick<Entry, 'behaviour' | 'solved'> {
  const verdict = verdicts.find(({ kind, measure }) => kind === 'scored' && measure === 'reproduction');
  const solved = z.array(z.string()).safeParse(verdict?.evidence.solved);
  return { behaviour: solved.success ? JSON.stringify(solved.data) : null, solved: solved.data ?? null };
}

/** An executed patch applied; one nobody executed is unknown. */
function appliedOf(verdicts: readonly Verdict[]): boolean | null {
  return verdicts.some(({ kind, measure }) => kind === 'scored' && measure !== 'execution_free') ? true : null;
}

function finishedOf({ trajectory }: Candidate): boolean | null {
  const reason = trajectory?.exit_reason ?? null;
  return reason === null ? null : submitted(reason);
}

/** Abstentions that are a gap in coverage rather than a fact about the patch. */
function isGap(verdict: Verdict): verdict is Extract<Verdict, { kind: 'abstained' }> {
  return (
    verdict.kind === 'abstained' &&
    [
      'infrastructure',
      'model-unavailable',
      'low-mass',
      'unreadable-answer',
      'budget-spent',
      'prompt-too-long',
    ].includes(verdict.reason)
  );
}
