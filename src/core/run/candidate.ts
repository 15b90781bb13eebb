import { z } from 'zod';
import { identifier, shownText, wholeText } from '../identifier.js';

/** One step of an agent: what it thought, what it did, what it saw. */
export const TrajectoryStep = z.object({
  thought: shownText().default(''),
  action: shownText().default(''),
  observation: shownText().default(''),
});
export type TrajectoryStep = z.infer<typeof TrajectoryStep>;

/** An agent's run, as a selector may see it: no reward, no hidden test, no gold patch has a place here. */
export const Trajectory = z.object({
  steps: z.array(TrajectoryStep).default([]),
  /** How the run ended, in R2E-Gym's words or the agent's own; null when unknown. */
  exit_reason: z
    .string()
    .nullish()
    .transform((reason) => reason ?? null),
});
export type Trajectory = z.infer<typeof Trajectory>;

/** How agents that submitted by themselves say so: R2E-Gym (`run/edit.py`), then SWE-agent, mini-swe-agent, OpenHands. */
const SUBMITTED: ReadonlySet<string> = new Set([
  'agent',
  'max_step_limit',
  'agent_max_step_limit',
  'submitted',
  'finished',
]);

/** Whether an agent that ended for this reason submitted its patch; one that a limit stopped did not. */
export function submitted(exitReason: string): boolean {
  return SUBMITTED.has(exitReason.toLowerCase());
}

/** One of the K tries at an issue. `patch` is a unified git diff, empty when the try changed nothing. */
export const Candidate = z.object({
  instance_id: identifier(512),
  candidate_id: identifier(256),
  patch: wholeText(),
  trajectory: Trajectory.nullish().transform((trajectory) => trajectory ?? null),
});
export type Candidate = z.infer<typeof Candidate>;

type Leak = 'git-history' | 'package-download' | 'upstream';

/**
 * What a command that looks for the answer looks like, by its words. The container gives none of it away (one orphan
 * commit, no network), so these flag the intent, and trajectories of other systems, whose containers may have.
 */
const SIGNS: readonly (readonly [Leak, readonly ((words: readonly string[]) => boolean)[]])[] = [
  [
    'git-history',
    [
      (words) => isGit(words) && has(words, /^(reflog|fsck|cherry-pick|bisect|unpack-objects|verify-pack)$/),
      (words) => isGit(words) && follows(words, /^stash$/, /^(list|show)$/),
      (words) => isGit(words) && later(words, /^log$/, /^(--all|--reflog|-g$|origin|upstream|--grep|-S|-G)/),
      (words) => isGit(words) && later(words, /^(show|checkout|diff)$/, /\b(origin|upstream)\//),
    ],
  ],
  [
    'upstream',
    [
      (words) => isGit(words) && has(words, /^(fetch|pull|clone|ls-remote)$/),
      (words) => isGit(words) && follows(words, /^remote$/, /^(add|set-url|update)$/),
      (words) => loads(words) && has(words, /github|gitlab|bitbucket/),
      ([program, verb]) => program === 'gh' && /^(pr|issue|api|repo)$/.test(verb ?? ''),
    ],
  ],
  [
    'package-download',
    [
      (words) => installsByPip(/^python[0-9.]*$/.test(words[0] ?? '') && words[1] === '-m' ? words.slice(2) : words),
      (words) => loads(words) && has(words, /pypi\.org|pythonhosted|npmjs|crates\.io/),
      ([program, verb]) => program === 'conda' && verb === 'install',
      ([program, verb, what]) =>
        program === 'npm' && /^(install|i|view|pack)$/.test(verb ?? '') && /^[a-z@]/.test(what ?? ''),
    ],
  ],
];

function isGit([program]: readonly string[]): boolean {
  return program === 'git';
}

function loads([program]: readonly string[]): boolean {
  return program === 'curl' || program === 'wget';
}

function has(words: readonly string[], what: RegExp): boolean {
  return words.some((word) => what.test(word));
}

/** Whether the word right behind the first such one is such another. */
function follows(words: readonly string[], first: RegExp, next: RegExp): boolean {
  const at = words.findIndex((word) => first.test(word));
  return at !== -1 && next.test(words[at + 1] ?? '');
}

/** Whether any word behind the first such one is such another. */
function later(words: readonly string[], first: RegExp, next: RegExp): boolean {
  const at = words.findIndex((word) => first.test(word));
  return at !== -1 && has(words.slice(at + 1), next);
}

/** From an index; what is there already or listed by the repository itself is no answer. */
function installsByPip([program, verb, ...rest]: readonly string[]): boolean {
  if (!/^pip[0-9.]*$/.test(program ?? '')) return false;
  return verb === 'download' || (verb === 'install' && !has(rest, /^(-e|-r|\.)$/));
}

/** Where a shell reads a command's name: a word in an argument, as of `grep`, is none. */
const BETWEEN_COMMANDS = /[;&|(<>\n`]|-c\s["']/;

/** The words of every command, its program first, without its folder, settings and `sudo`. */
function commandsIn(action: string): string[][] {
  return action.split(BETWEEN_COMMANDS).map((command) => {
    const words = command.split(/["']?\s+|["']$/).filter((word) => word !== '');
    const start = words.findIndex((word) => word !== 'sudo' && !/^\w+=/.test(word));
    const [program = '', ...rest] = start === -1 ? [] : words.slice(start);
    return [program.slice(program.lastIndexOf('/') + 1), ...rest];
  });
}

/** Longer actions are looked at only so far. */
const LONGEST = 20_000;

/** The ways in which a trajectory looked for the answer, each once, and the first step (from 1) that did. */
export function leaksOf(steps: readonly Pick<TrajectoryStep, 'action'>[]): readonly { leak: Leak; step: number }[] {
  const commands = steps.map(({ action }) => commandsIn(action.slice(0, LONGEST)));
  return SIGNS.flatMap(([leak, signs]) => {
    const index = commands.findIndex((each) => each.some((words) => signs.some((sign) => sign(words))));
    return index === -1 ? [] : [{ leak, step: index + 1 }];
  });
}
