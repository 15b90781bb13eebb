/** Whole numbers from 0 up to and without the one given, out of unguessable text. */
export function randomFrom(nonce: () => string): (below: number) => number {
  let left = '';
  return (below) => {
    if (left.length < 8) left += nonce();
    const digits = left.slice(0, 8);
    left = left.slice(8);
    return Number.parseInt(digits, 36) % below;
  };
}
