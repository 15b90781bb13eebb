import type { TrajectoryStep } from '../../src/core/candidate.js';
import { contentKey } from '../../src/core/fingerprint.js';
import { condense, type Condensed } from './condense.js';
import { excerpt } from './excerpt.js';
import { neutralise } from '../../src/core/neutralise.js';

/** All that a judge is shown of a candidate. Rewards, hidden tests and ids have no place here, by type. */
export interface Attempt {
  readonly issue: string;
  /** Empty when only the patch is known. */
  readonly steps: readonly TrajectoryStep[];
  readonly patch: string;
}

/** Variables of the prompts. */
export interface RenderedAttempt {
  /** 16 hex digits: hash of all data, so no data can contain its own. */
  readonly fence: string;
  /** 16 hex digits: hash of the issue alone, so that prompts about one issue begin alike. */
  readonly issue_fence: string;
  readonly issue: string;
  readonly steps: string;
  readonly patch: string;
  /** Whether anything was shortened to fit. */
  readonly condensed: boolean;
}

/** An issue longer than this share of the budget is shortened before the steps are. */
const ISSUE_SHARE = 0.25;
const SPARE = 1.2;

/**
 * The attempt as the judge reads it, in at most `budget` characters. The patch is never shortened: a judge of half a
 * patch judges something else.
 * @returns null when the patch leaves no room for issue and steps
 */
export function renderAttempt(attempt: Attempt, budget: number): RenderedAttempt | null {
  const patch = neutralise(attempt.patch).trimEnd();
  const whole = neutralise(attempt.issue).trim();
  const issue = excerpt(whole, Math.floor(budget * ISSUE_SHARE));
  const room = budget - patch.length - issue.length;
  // What would be cut anyway need not be searched for marks; a little more than fits is left for what gets shorter.
  const rough = condense(attempt.steps, SPARE * Math.max(room, 0));
  const short = condense(rough.steps.map(neutraliseStep), room);
  const steps = renderSteps({ ...short, dropped: rough.dropped + short.dropped });
  if (steps.length > room) return null;
  const { issue: statement, steps: given, patch: diff } = attempt;
  const fence = contentKey([statement, given, diff]).slice(0, 16);
  const issue_fence = contentKey([statement]).slice(0, 16);
  return { fence, issue_fence, issue, steps, patch, condensed: rough.condensed || short.condensed || issue !== whole };
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
  return [...note, ...steps.map((step, index) => renderStep(step, dropped + index))].join('\n');
}

function renderStep({ thought, action, observation }: TrajectoryStep, index: number): string {
  const said = [thought, action].filter((part) => part !== '').join('\n\n');
  return `[STEP]\n${index}\n[/STEP]\n[ASSISTANT]\n${said}\n[/ASSISTANT]\n[USER]\n${observation}\n[/USER]`;
}
