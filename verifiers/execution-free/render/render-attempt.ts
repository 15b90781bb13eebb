import { contentKey } from '../../../src/core/identifier.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import type { TrajectoryStep } from '../../../src/core/run/candidate.js';
import type { Tokenizer } from '../../../src/ports/llm-client.js';
import { condense, type Condensed, excerpt } from './condense.js';

/** All that a judge is shown of a candidate. Rewards, hidden tests and ids have no place here, by type. */
export interface Attempt {
  readonly issue: string;
  /** Empty when only the patch is known. */
  readonly steps: readonly TrajectoryStep[];
  readonly patch: string;
  /** The repository at base around what the patch changes, in pieces that begin with `--- `; empty when nobody read it. */
  readonly source?: string;
  /** What was seen when tests were run on the patch; empty when none were. */
  readonly tests?: string;
  /** What the record of the work gives reason to be told of. */
  readonly flags?: string;
}

/** Variables of the prompts; empty texts where there is nothing to show. */
export interface RenderedAttempt {
  /** 16 hex digits: hash of all data, so no data can contain its own. */
  readonly fence: string;
  /** 16 hex digits: hash of the issue alone, so that prompts about one issue begin alike. */
  readonly issue_fence: string;
  /** 16 hex digits: hash of the source alone, so that patches of one function begin alike. */
  readonly source_fence: string;
  readonly issue: string;
  readonly source: string;
  readonly steps: string;
  readonly patch: string;
  readonly tests: string;
  readonly flags: string;
  /** Whether anything was shortened to fit. */
  readonly condensed: boolean;
}

/** An issue longer than this share of the budget is shortened before the steps are. */
const ISSUE_SHARE = 0.25;
const SOURCE_SHARE = 0.3;
const TESTS_SHARE = 0.1;
const SPARE = 1.2;

/**
 * The attempt as the judge reads it, in at most `budget` characters. The patch is never shortened: a judge of half a
 * patch judges something else.
 * @returns null when the patch leaves no room for issue and steps
 */
export function renderAttempt(attempt: Attempt, budget: number): RenderedAttempt | null {
  const { issue: statement, steps: given, patch: diff, source: around = '', tests: seen = '', flags = '' } = attempt;
  // No text becomes shorter than half of it: line ends of two characters become one.
  if (diff.trimEnd().length > 2 * budget) return null;
  const patch = neutralise(diff).trimEnd();
  const whole = neutralise(statement).trim();
  const issue = excerpt(whole, Math.floor(budget * ISSUE_SHARE));
  const source = firstPieces(neutralise(around), Math.min(budget * SOURCE_SHARE, budget - patch.length - issue.length));
  const tests = excerpt(neutralise(seen), Math.floor(budget * TESTS_SHARE));
  const room = budget - [patch, issue, source, tests, flags].join('').length;
  // What would be cut anyway need not be searched for marks; a little more than fits is left for what gets shorter.
  const rough = condense(given, SPARE * Math.max(room, 0));
  const short = condense(rough.steps.map(neutraliseStep), room);
  const steps = renderSteps({ ...short, dropped: rough.dropped + short.dropped });
  if (steps.length > room) return null;
  const cut = issue !== whole || tests.length < seen.length || source.length < around.length;
  return {
    fence: contentKey([statement, given, diff, seen, flags]).slice(0, 16),
    issue_fence: contentKey([statement]).slice(0, 16),
    source_fence: contentKey([around]).slice(0, 16),
    issue,
    source,
    steps,
    patch,
    tests,
    flags: neutralise(flags),
    condensed: rough.condensed || short.condensed || cut,
  };
}

/** What comes first is closest to the change. */
function firstPieces(source: string, room: number): string {
  if (source.length <= room) return source;
  const pieces = piecesOf(source);
  let text = '';
  for (const piece of pieces) {
    const longer = text === '' ? piece : `${text}\n\n${piece}`;
    if (longer.length > room) break;
    text = longer;
  }
  return text;
}

export function piecesOf(source: string): readonly string[] {
  return source === '' ? [] : source.split(/\n\n(?=--- )/);
}

function neutraliseStep({ thought, action, observation }: TrajectoryStep): TrajectoryStep {
  return {
    thought: neutralise(thought).trim(),
    action: neutralise(action).trim(),
    observation: neutralise(observation).trimEnd(),
  };
}

function renderSteps({ steps, dropped }: Condensed): string {
  const note = dropped === 0 ? [] : [`[... ${dropped} earlier steps cut ...]`];
  return [...note, ...steps.map((step, index) => renderStep(step, dropped + index))].join('\n\n');
}

/** As R2E-Gym's and DeepSWE's verifiers were trained to read a step. */
function renderStep({ thought, action, observation }: TrajectoryStep, index: number): string {
  const said = [thought, action].filter((part) => part !== '').join('\n\n');
  return `[STEP]\n${index}\n[/STEP]\n\n[ASSISTANT]\n${said}\n[/ASSISTANT]\n\n[USER]\n${observation}\n[/USER]`;
}

/** Characters a token has in agents' trajectories, about; where the search for the right length starts. */
const CHARS_PER_TOKEN = 3.5;
/** Our own words around the data, and what a chat template adds. */
const OVERHEAD_TOKENS = 1_500;
const ROUNDS = 6;

/**
 * The attempt as a judge reads it, in at most `maxTokens` tokens together with our own words. Deterministic. Short
 * attempts are not counted: a text has no more tokens than bytes.
 * @returns null when the patch alone leaves no room
 */
export async function fitAttempt(
  attempt: Attempt,
  tokenizer: Tokenizer,
  maxTokens: number,
): Promise<RenderedAttempt | null> {
  const room = maxTokens - OVERHEAD_TOKENS;
  let budget = Math.floor(room * CHARS_PER_TOKEN);
  for (let round = 0; round < ROUNDS; round += 1) {
    const rendered = renderAttempt(attempt, budget);
    if (rendered === null) return null;
    const { issue, source, steps, patch, tests, flags } = rendered;
    const text = [issue, source, steps, patch, tests, flags].join('\n');
    if (text.length * 3 <= room) return rendered;
    const tokens = await tokenizer.count(text);
    if (tokens <= room) return rendered;
    // A little less than in proportion, so that it ends soon.
    budget = Math.floor(Math.min(budget, text.length) * (room / tokens) * 0.97);
  }
  return null;
}
