import type { Trial } from './trial.js';

const HEAD = [
  ...['fault', 'points', 'under way', 'ended correctly', 'results lost', 'model calls', 'in flight', 'made twice'],
  ...['beyond those in flight', 'containers left', 'stuck', 's to the end: median', 'max'],
];

/** A Markdown table, a line each fault. */
export function table(struck: ReadonlyMap<string, readonly Trial[]>): string {
  const lines = [...struck].map(([name, trials]) => row(name, trials));
  return [HEAD, HEAD.map((_, index) => (index === 0 ? '---' : '---:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function row(name: string, trials: readonly Trial[]): readonly string[] {
  const sum = (of: (trial: Trial) => number): string => String(trials.reduce((all, each) => all + of(each), 0));
  const count = (of: (trial: Trial) => boolean): string => String(trials.filter(of).length);
  const seconds = trials.map((each) => each.seconds).sort((a, b) => a - b);
  return [
    ...[name, String(trials.length), count(({ underWay }) => underWay), count(({ right }) => right)],
    ...[sum(({ lost }) => lost), sum(({ calls }) => calls), sum(({ inFlight }) => inFlight)],
    ...[sum(({ twice }) => twice), sum(({ twice, inFlight }) => Math.max(0, twice - inFlight))],
    ...[sum(({ containers }) => containers), count(({ stuck }) => stuck)],
    ...[(seconds[Math.floor(seconds.length / 2)] ?? 0).toFixed(1), (seconds.at(-1) ?? 0).toFixed(1)],
  ];
}
