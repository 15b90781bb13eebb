import { z } from 'zod';
import { identifier, idInFile, shownText, wholeText } from '../identifier.js';
import { Text } from '../json.js';

/** One step of an agent: thought, action, observation. */
export const TrajectoryStep = z.object({
  thought: shownText().default(''),
  action: shownText().default(''),
  observation: shownText().default(''),
});
export type TrajectoryStep = z.infer<typeof TrajectoryStep>;

/** An agent's run as a selector may see it: it has no field for a reward, a hidden test or a gold patch. */
export const Trajectory = z.object({
  steps: z.array(TrajectoryStep).default([]),
  /** How the run ended, in the terms of R2E-Gym or of the agent; null when unknown. */
  exit_reason: z
    .string()
    .nullish()
    .transform((reason) => reason ?? null),
});
export type Trajectory = z.infer<typeof Trajectory>;

const textInFile = Text.pipe(shownText());
const StepInFile = z.object({ thought: textInFile, action: textInFile, observation: textInFile });
const OfR2eGym = z
  .object({ trajectory_steps: z.unknown().optional(), exit_reason: z.unknown().optional() })
  .transform(({ trajectory_steps: steps, exit_reason }) => ({ steps, exit_reason }));

/**
 * A trajectory as files have it: also a list of steps, or R2E-Gym's `trajectory_steps`; null is an empty text, and a text in
 * parts or another value becomes text.
 */
const TrajectoryInFile = z.preprocess(
  (value) => {
    if (Array.isArray(value)) return { steps: value as unknown };
    return typeof value === 'object' && value !== null && !('steps' in value) ? OfR2eGym.parse(value) : value;
  },
  Trajectory.extend({ steps: z.array(StepInFile) }),
);

/**
 * Exit reasons of agents that submitted on their own: R2E-Gym (`run/edit.py`), then SWE-agent, mini-swe-agent,
 * nebius' runs of OpenHands, OpenHands.
 */
const SUBMITTED: ReadonlySet<string> = new Set([
  'agent',
  'max_step_limit',
  'agent_max_step_limit',
  'submitted',
  'submit',
  'finished',
]);

/** Whether this exit reason means that the agent submitted its patch, as opposed to being stopped by a limit. */
export function submitted(exitReason: string): boolean {
  return SUBMITTED.has(exitReason.toLowerCase());
}

/** One of the K attempts at an issue. `patch` is a unified git diff, empty if the attempt changed nothing. */
export const Candidate = z.object({
  instance_id: identifier(512),
  candidate_id: identifier(256),
  patch: wholeText(),
  trajectory: Trajectory.nullish().transform((trajectory) => trajectory ?? null),
});
export type Candidate = z.infer<typeof Candidate>;

/** A candidate as files have it. */
export const CandidateInFile = Candidate.extend({
  candidate_id: idInFile(identifier(256)),
  patch: wholeText()
    .nullable()
    .transform((patch) => patch ?? ''),
  trajectory: TrajectoryInFile.nullish().transform((trajectory) => trajectory ?? null),
});

type Leak = 'git-history' | 'package-download' | 'upstream';

/**
 * Signs, in the words of a command, that it looks for the answer. bestk's containers do not contain the answer (one
 * orphan commit, no network), so a sign flags the intent; trajectories of other systems may have found it.
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

/** Whether the word directly after the first match of `first` matches `next`. */
function follows(words: readonly string[], first: RegExp, next: RegExp): boolean {
  const at = words.findIndex((word) => first.test(word));
  return at !== -1 && next.test(words[at + 1] ?? '');
}

/** Whether any word after the first match of `first` matches `next`. */
function later(words: readonly string[], first: RegExp, next: RegExp): boolean {
  const at = words.findIndex((word) => first.test(word));
  return at !== -1 && has(words.slice(at + 1), next);
}

/** Downloads from a package index; installing local code or the repository's own requirements is not a leak. */
function installsByPip([program, verb, ...rest]: readonly string[]): boolean {
  if (!/^pip[0-9.]*$/.test(program ?? '')) return false;
  return verb === 'download' || (verb === 'install' && !has(rest, /^(-e|-r|\.)$/));
}

/** Where a program name may begin in a shell command: a word inside an argument, as of `grep`, is none. */
const BETWEEN_COMMANDS = /[;&|(<>\n`]|-c\s["']/;

/** The words of every command, starting with the program, without its directory, variable assignments and `sudo`. */
function commandsIn(action: string): string[][] {
  return action.split(BETWEEN_COMMANDS).map((command) => {
    const words = command.split(/["']?\s+|["']$/).filter((word) => word !== '');
    const start = words.findIndex((word) => word !== 'sudo' && !/^\w+=/.test(word));
    const [program = '', ...rest] = start === -1 ? [] : words.slice(start);
    return [program.slice(program.lastIndexOf('/') + 1), ...rest];
  });
}

/** Characters of an action that are examined. */
const LONGEST = 20_000;

/** The kinds of leak a trajectory attempted, each once, with its first step (from 1). */
export function leaksOf(steps: readonly Pick<TrajectoryStep, 'action'>[]): readonly { leak: Leak; step: number }[] {
  const commands = steps.map(({ action }) => commandsIn(action.slice(0, LONGEST)));
  return SIGNS.flatMap(([leak, signs]) => {
    const index = commands.findIndex((each) => each.some((words) => signs.some((sign) => sign(words))));
    return index === -1 ? [] : [{ leak, step: index + 1 }];
  });
}
