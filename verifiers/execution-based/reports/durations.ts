/** Units of durations that runners print. */
const UNIT = '(?:ms|s|m|µs|μs|us|ns|msecs?|secs?|seconds?|mins?|minutes?|milliseconds?)';
const NUMBER = String.raw`[<~]?\d[\d.,]*`;
const DURATION = new RegExp(
  [
    // Without a blank before it, it is a parameter of pytest.
    String.raw`(?<=\s)\[\s*${NUMBER}\s*${UNIT}\s*\]$`,
    String.raw`\(\s*${NUMBER}\s*${UNIT}\s*\)$`,
    String.raw`\sin\s+${NUMBER}\s*${UNIT}$`,
    String.raw`\s\d[\d.]*\s?(?:ms|s|µs|μs|ns)$`,
  ].join('|'),
  'i',
);
const LONGEST_DURATION = 40;

/** A name without the duration at its end, which differs between runs of the same test. */
export function withoutDuration(name: string): string {
  const start = Math.max(0, name.length - LONGEST_DURATION);
  const end = name.slice(start);
  const found = DURATION.exec(end);
  if (found === null) return name;
  return name.slice(0, start + found.index).trimEnd() || name;
}
