/** A directory with a neutral, random name outside the repository, so that no patch can put a file in its place. */
export function scratchDirectory(nonce: () => string): string {
  return `/var/lib/${nonce().slice(0, 16)}`;
}
