import type { TrajectoryStep } from './candidate.js';

export type Leak = 'git-history' | 'package-download' | 'upstream';

/**
 * What a command that looks for the answer looks like. The container gives none of it away (one orphan commit, no
 * network), so these flag the intent, and trajectories of other systems, whose containers may have.
 */
const SIGNS: readonly (readonly [Leak, RegExp])[] = [
  [
    'git-history',
    /\bgit\b[^\n;&|]*\s(reflog|fsck|cherry-pick|bisect|unpack-objects|verify-pack)\b|\bgit\b[^\n;&|]*\slog\b[^\n;&|]*\s(--all|--reflog|-g\b|origin|upstream|--grep|-S|-G)|\bgit\b[^\n;&|]*\sstash\s+(list|show)|\bgit\b[^\n;&|]*\s(show|checkout|diff)\s+[^\n;&|]*\b(origin|upstream)\//,
  ],
  [
    'upstream',
    /\bgit\b[^\n;&|]*\s(fetch|pull|clone|ls-remote|remote\s+(add|set-url|update))\b|\b(curl|wget)\b[^\n;|&]*(github|gitlab|bitbucket|raw\.githubusercontent)|\bgh\s+(pr|issue|api|repo)\b/,
  ],
  [
    'package-download',
    /\bpip3?\s+(download|install)\b(?![^\n;&|]*(\s-e\b|\s\.(\s|$)|-r\s))|\b(curl|wget)\b[^\n;|&]*(pypi\.org|pythonhosted|npmjs|crates\.io)|\bconda\s+install\b|\bnpm\s+(install|i|view|pack)\s+[a-z@]/,
  ],
];

/** Longer actions are looked at only so far. */
const LONGEST = 20_000;

/** The ways in which a trajectory looked for the answer, each once, and the first step (from 1) that did. */
export function leaksOf(steps: readonly Pick<TrajectoryStep, 'action'>[]): readonly { leak: Leak; step: number }[] {
  return SIGNS.flatMap(([leak, sign]) => {
    const index = steps.findIndex(({ action }) => sign.test(action.slice(0, LONGEST)));
    return index === -1 ? [] : [{ leak, step: index + 1 }];
  });
}
