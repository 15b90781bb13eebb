import type { TrajectoryStep } from './candidate.js';

export type Leak = 'git-history' | 'package-download' | 'upstream';

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
