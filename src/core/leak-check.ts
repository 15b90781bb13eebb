import type { TrajectoryStep } from './candidate.js';

export type Leak = 'git-history' | 'package-download' | 'upstream';

/**
 * What a command that looks for the answer looks like. The container gives none of it away (one orphan commit, no
 * network), so these flag the intent, and trajectories of other systems, whose containers may have.
 */
const SIGNS: readonly (readonly [Leak, RegExp])[] = [
  [
    'git-history',
    command(
      String.raw`git\b[^\n;&|]*\s(reflog|fsck|cherry-pick|bisect|unpack-objects|verify-pack|stash\s+(list|show))\b`,
      String.raw`git\b[^\n;&|]*\slog\b[^\n;&|]*\s(--all|--reflog|-g\b|origin|upstream|--grep|-S|-G)`,
      String.raw`git\b[^\n;&|]*\s(show|checkout|diff)\s[^\n;&|]*\b(origin|upstream)/`,
    ),
  ],
  [
    'upstream',
    command(
      String.raw`git\b[^\n;&|]*\s(fetch|pull|clone|ls-remote|remote\s+(add|set-url|update))\b`,
      String.raw`(curl|wget)\b[^\n;|&]*(github|gitlab|bitbucket)`,
      String.raw`gh\s+(pr|issue|api|repo)\b`,
    ),
  ],
  [
    'package-download',
    command(
      String.raw`(\S*python[0-9.]*\s+-m\s+)?pip[0-9.]*\s+(download|install)\b(?![^\n;&|]*(\s-e\b|\s\.(\s|$)|\s-r\s))`,
      String.raw`(curl|wget)\b[^\n;|&]*(pypi\.org|pythonhosted|npmjs|crates\.io)`,
      String.raw`conda\s+install\b`,
      String.raw`npm\s+(install|i|view|pack)\s+[a-z@]`,
    ),
  ],
];

/** Where a shell reads a command's name: a word in an argument, as of `grep`, is none. */
function command(...patterns: readonly string[]): RegExp {
  return new RegExp(String.raw`(?:^|[;&|(>\n\`]|-c\s+["'])[ \t]*(?:sudo\s+)?(?:${patterns.join('|')})`, 'm');
}

/** Longer actions are looked at only so far. */
const LONGEST = 20_000;

/** The ways in which a trajectory looked for the answer, each once, and the first step (from 1) that did. */
export function leaksOf(steps: readonly Pick<TrajectoryStep, 'action'>[]): readonly { leak: Leak; step: number }[] {
  return SIGNS.flatMap(([leak, sign]) => {
    const index = steps.findIndex(({ action }) => sign.test(action.slice(0, LONGEST)));
    return index === -1 ? [] : [{ leak, step: index + 1 }];
  });
}
