const TAIL_CHARACTERS = 4_000;

/** End of what a command printed, both streams, at most 4,000 characters: evidence for people, never for a score. */
export function logTail(output: { readonly stdout: string; readonly stderr: string }): string {
  const half = TAIL_CHARACTERS / 2;
  const stderr = output.stderr.slice(-Math.max(half, TAIL_CHARACTERS - output.stdout.length));
  const stdout = output.stdout.slice(-(TAIL_CHARACTERS - stderr.length));
  return [stdout, stderr].filter((text) => text !== '').join('\n');
}
