import { z } from 'zod';
import { grouped } from '../core/grouped.js';
import { submitted, type Candidate } from '../core/run/candidate.js';
import { summaryOf } from '../core/patch/patch.js';
import { candidateOf, type Rollout, votelessOf } from '../core/run/rollout.js';
import {
  appliedFormIn,
  EXECUTION_FREE,
  type Measure,
  measureNamed,
  observationsIn,
  REGRESSION,
  REPRODUCTION,
  type AbstainReason,
  type Verdict,
} from '../core/run/verdict.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { RunResult, Selection } from '../core/run/run-result.js';
import type { Entry } from '../../verifiers/hybrid/entry.js';
import type { PoolInput } from '../../verifiers/hybrid/pool.js';
import { type GeneratedTest, HOLDING } from '../core/run/generated-test.js';
import { notExecuted } from './score.js';

/** A candidate as seen by the hybrid verifier, with flags for the reader. */
export interface Described {
  readonly entry: Entry;
  readonly flags: readonly string[];
}

/** The candidates' rollouts, none if candidates were supplied, and the measures declared by the verifiers. */
interface Origin {
  readonly rollouts?: readonly Rollout[];
  readonly measures?: readonly Measure[];
}

/**
 * Joins patch facts with verdicts by candidate id; keeps the order of the candidates.
 * @param statement of the issue
 */
export function describeCandidates(
  candidates: readonly Candidate[],
  verdicts: readonly Verdict[],
  statement: string,
  { rollouts = [], measures = [] }: Origin = {},
): readonly Described[] {
  const told = votelessOf(rollouts);
  const agents = new Map(rollouts.map(({ candidate_id, agent }) => [candidate_id, agent]));
  const byCandidate = grouped(verdicts, ({ candidate_id }) => candidate_id);
  const isCleared = verdicts.some(hasCleared);
  const firstWith = new Map<string, string>();
  return candidates.map((candidate) => {
    const own = byCandidate.get(candidate.candidate_id) ?? [];
    const facts = patchFacts(candidate, own, statement);
    const twin = facts.fingerprint === null ? undefined : firstWith.get(facts.fingerprint);
    if (facts.fingerprint !== null && twin === undefined) firstWith.set(facts.fingerprint, candidate.candidate_id);
    const isTold = told.has(candidate.candidate_id);
    const origin = { ...(isTold ? { told: true } : {}), ...madeBy(agents.get(candidate.candidate_id) ?? null) };
    const entry = {
      ...entryOf(candidate, facts, own, isCleared),
      ...measured(own, measures),
      ...lostOf(own),
      ...origin,
    };
    return {
      entry,
      flags: [
        ...facts.flags,
        ...NEVER_RETURNED.filter((reason) => abstainedFor(own, reason)),
        ...executionFlags(own),
        ...(entry.finished === false ? ['not-submitted'] : []),
        ...(twin === undefined ? [] : [`same-patch-as:${twin}`]),
        ...(own.some(({ evidence }) => evidence.disagrees === true) ? ['judge-disagrees-without-thoughts'] : []),
        ...own.flatMap((verdict) => (isGap(verdict) ? [`abstained:${verdict.measure}:${verdict.reason}`] : [])),
      ],
    };
  });
}

/** The agent field of an entry; omitted for a run's only agent. */
export function madeBy(agent: string | null): Pick<Entry, 'agent'> {
  return agent === null ? {} : { agent };
}

/**
 * Measures of tests that no sandbox survived (unless others had the CPU), and of judges that the patch is too long for.
 * Infrastructure that fails for every candidate ends the run instead.
 */
function lostOf(own: readonly Verdict[]): Pick<Entry, 'lost'> {
  const isLost = (reason: AbstainReason, { measure, evidence }: Verdict): boolean =>
    reason === 'prompt-too-long' ||
    (reason === 'refused-patch' && measureNamed(measure).kind === 'judge') ||
    (reason === 'infrastructure' && EXECUTED.has(measure) && evidence.starved !== true);
  const lost = own.flatMap((verdict) =>
    verdict.kind === 'abstained' && isLost(verdict.reason, verdict) ? [verdict.measure] : [],
  );
  return lost.length === 0 ? {} : { lost };
}

const EXECUTED: ReadonlySet<string> = new Set([REGRESSION.name, REPRODUCTION.name]);

/** What a reader should know of how the tests were executed. */
function executionFlags(own: readonly Verdict[]): readonly string[] {
  return [
    ...(notExecuted(own) === null ? [] : ['not-executed']),
    ...(own.some(({ evidence }) => evidence.isolated === false) ? ['not-isolated'] : []),
    ...(own.some(({ evidence }) => evidence.set_apart !== undefined) ? ['image-files-set-apart'] : []),
    ...(abstainedFor(own, DOUBTED) ? [DOUBTED] : []),
  ];
}

/** The selected candidate's patch, in the form that applies: as it was executed, else as it was read. */
export function returnedPatch(
  candidates: readonly Candidate[],
  verdicts: readonly Verdict[],
  { selection, statement }: { readonly selection: Selection; readonly statement: string },
): string | null {
  const isSelected = ({ candidate_id }: { candidate_id: string }): boolean => candidate_id === selection.candidate_id;
  const candidate = candidates.find(isSelected);
  if (candidate === undefined) return null;
  const summary = summaryOf(candidate, statement);
  const asRead = summary.kind === 'ok' ? summary.text : candidate.patch;
  return appliedFormIn(verdicts.filter(isSelected))?.patch ?? asRead;
}

/** The pool that a finished run was decided from; the same for every later decision. */
export function poolOfRun(request: RunRequest, { rollouts, verdicts, tests, measures }: RunResult): RunPool {
  const { instance_id, problem_statement } = request.issue;
  const described = describeCandidates(request.candidates ?? rollouts.map(candidateOf), verdicts, problem_statement, {
    rollouts,
    measures,
  });
  return poolInput(instance_id, described, request.tests ?? tests);
}

/** A pool with the authors of its tests. */
type RunPool = PoolInput & { readonly authors: ReadonlyMap<string, string> };

export function poolInput(
  instanceId: string,
  described: readonly Described[],
  tests: readonly Pick<GeneratedTest, 'test_id' | 'author' | 'kind'>[],
): RunPool {
  const told = tests.map(({ test_id, author, kind }) => [test_id, kind === HOLDING ? HOLDING : author] as const);
  const authors = new Map(told.flatMap(([test_id, author]) => (author === null ? [] : [[test_id, author]])));
  return { instanceId, entries: described.map(({ entry }) => entry), authors };
}

function entryOf(
  candidate: Candidate,
  facts: PatchFacts,
  own: readonly Verdict[],
  isCleared: boolean,
): Omit<Entry, keyof Measured> {
  const isRejected =
    facts.refused ||
    own.some(isRefusedBySandbox) ||
    NEVER_RETURNED.some((reason) => abstainedFor(own, reason)) ||
    (isCleared && abstainedFor(own, DOUBTED));
  return {
    id: candidate.candidate_id,
    patch_size: facts.size,
    fingerprint: facts.fingerprint,
    change: facts.change,
    syntax: syntaxIn(own),
    // The sandbox may know that all of its files are the image's own.
    has_source_change: facts.hasSourceChange && !abstainedFor(own, 'no-source-change'),
    applies: isRejected ? false : appliedOf(own),
    finished: finishedOf(candidate),
    steps: candidate.trajectory?.steps.length ?? null,
  };
}

/** As reported by the execution-based verifier with its verdicts. */
function syntaxIn(verdicts: readonly Verdict[]): string | null {
  return verdicts.flatMap(({ evidence }) => (typeof evidence.syntax === 'string' ? [evidence.syntax] : []))[0] ?? null;
}

/** Reasons for which a patch is never returned, whatever judges say. */
const NEVER_RETURNED = ['does-not-apply', 'forged'] as const;
/** Not returned while there is another patch without doubts. */
const DOUBTED = 'control-solved';

/** Whether the control tests clear a candidate. */
function hasCleared({ kind, measure, evidence }: Verdict): boolean {
  const { control } = evidence;
  return kind === 'scored' && measure === REPRODUCTION.name && (control === 'failed' || control === 'unfit');
}

function abstainedFor(verdicts: readonly Verdict[], reason: AbstainReason): boolean {
  return verdicts.some((verdict) => verdict.kind === 'abstained' && verdict.reason === reason);
}

function isRefusedBySandbox(verdict: Verdict): boolean {
  return verdict.kind === 'abstained' && verdict.reason === 'refused-patch' && EXECUTED.has(verdict.measure);
}

interface PatchFacts {
  readonly hasSourceChange: boolean;
  readonly refused: boolean;
  readonly size: number | null;
  readonly fingerprint: string | null;
  readonly change: string | null;
  readonly flags: readonly string[];
}

/** @param own the candidate's verdicts, which say in which form its patch was executed */
function patchFacts(candidate: Candidate, own: readonly Verdict[], statement: string): PatchFacts {
  const form = appliedFormIn(own);
  const patch = summaryOf(form ?? candidate, statement);
  const nothing = { hasSourceChange: false, refused: false, size: null, fingerprint: null, change: null };
  if (patch.kind === 'empty') return { ...nothing, flags: ['empty-patch'] };
  if (patch.kind === 'refused') {
    return { ...nothing, hasSourceChange: true, refused: true, flags: [`refused-patch:${patch.reason}`] };
  }
  const { source, setApart, manifests, size, fingerprint, change, repairs } = patch;
  const roles = new Set(setApart.map(({ role }) => `${role}-files-set-apart`));
  const flags = [...(form?.repairs ?? repairs).map((repair) => `applied:${repair}`), ...roles];
  if (source === '') return { ...nothing, flags: ['no-source-change', ...flags] };
  return {
    ...{ hasSourceChange: true, refused: false, size, fingerprint, change },
    flags: [...flags, ...manifests.map((path) => `manifest-verified:${path}`)],
  };
}

type Measured = Pick<
  Entry,
  | 'execution_free'
  | 'regression'
  | 'reproduction'
  | 'measures'
  | 'regression_out_of'
  | 'reproduction_out_of'
  | 'behaviour'
  | 'solved'
  | 'failed'
  | 'observed'
  | 'beats'
>;

function measured(verdicts: readonly Verdict[], declared: readonly Measure[]): Measured {
  const scored = new Map(verdicts.flatMap((each) => (each.kind === 'scored' ? [[each.measure, each]] : [])));
  const [regression, reproduction] = [scored.get(REGRESSION.name), scored.get(REPRODUCTION.name)];
  const further = verdicts.map(({ measure }) => measure).filter((name) => !WELL_KNOWN.has(name));
  return {
    execution_free: judged(scored),
    regression: regression?.score ?? null,
    reproduction: reproduction?.score ?? null,
    ...(further.length === 0
      ? {}
      : { measures: Object.fromEntries(further.map((name) => [name, inUnit(scored.get(name), declared)])) }),
    regression_out_of: regression?.out_of ?? null,
    reproduction_out_of: reproduction?.out_of ?? null,
    ...behaviourOf(verdicts, reproduction),
    beats: beatsOf(verdicts),
  };
}

type Scored = Extract<Verdict, { kind: 'scored' }>;

const WELL_KNOWN: ReadonlySet<string> = new Set([EXECUTION_FREE, REGRESSION, REPRODUCTION].map(({ name }) => name));

/** A probability is normalised to 0..1. */
function inUnit(verdict: Scored | undefined, declared: readonly Measure[] = []): number | null {
  if (verdict === undefined) return null;
  return measureNamed(verdict.measure, declared).unit === 'probability'
    ? verdict.score / verdict.out_of
    : verdict.score;
}

/** If several judges gave verdicts and there is none for all, their mean is the value that presets use. */
function judged(scored: ReadonlyMap<string, Scored>): number | null {
  const one = scored.get(EXECUTION_FREE.name);
  if (one !== undefined) return one.score;
  const all = [...scored.values()].filter(({ measure }) => measureNamed(measure).kind === 'judge');
  return all.length === 0 ? null : all.reduce((sum, verdict) => sum + (inUnit(verdict) ?? 0), 0) / all.length;
}

/**
 * The generated tests that the candidate solved, and its values in observing tests. `behaviour` is equal for candidates that
 * solved the same tests and showed the same values.
 */
function behaviourOf(
  verdicts: readonly Verdict[],
  verdict: Scored | undefined,
): Pick<Entry, 'behaviour' | 'solved' | 'failed' | 'observed'> {
  const { solved = null, failed = null } = Outcomes.safeParse(verdict?.evidence).data ?? {};
  const observations = observationsIn(verdicts);
  if (observations === null) return { behaviour: solved === null ? null : JSON.stringify(solved), solved, failed };
  return { behaviour: JSON.stringify([solved, observations.class]), solved, failed, observed: observations.values };
}

const Outcomes = z.object({ solved: z.array(z.string()), failed: z.array(z.string()).nullish() });

/** Candidates that this one beats according to a pairwise judge, in both orders. */
function beatsOf(verdicts: readonly Verdict[]): string[] | null {
  const lists = verdicts.flatMap(({ evidence }) => z.array(z.string()).safeParse(evidence.beats).data ?? []);
  return verdicts.some(({ evidence }) => evidence.beats !== undefined) ? lists : null;
}

/** True if the patch was executed, which means it applied; unknown otherwise. */
function appliedOf(verdicts: readonly Verdict[]): boolean | null {
  const ran = ({ kind, measure, evidence }: Verdict): boolean =>
    (kind === 'scored' && measureNamed(measure).kind.endsWith('tests')) || evidence.observations !== undefined;
  return verdicts.some(ran) ? true : null;
}

function finishedOf({ trajectory }: Candidate): boolean | null {
  const reason = trajectory?.exit_reason ?? null;
  return reason === null ? null : submitted(reason);
}

/** Whether an abstention is a gap in coverage rather than a fact about the patch. */
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
