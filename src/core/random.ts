/** A source of numbers in [0, 1); equal seeds give equal sequences. */
export type Random = () => number;

/** sfc32 (Doty-Humphrey, PractRand), seeded through splitmix32; 32 bits per draw. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const mix = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  let [a, b, c, counter] = [mix(), mix(), mix(), 1];
  const next = (): number => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4294967296;
  };
  for (let i = 0; i < 12; i += 1) next();
  return next;
}

/** A random integer from 0 to n − 1. */
export function below(n: number, random: Random): number {
  return Math.floor(random() * n);
}

/** Shuffles in place (Fisher–Yates). */
export function shuffle(values: Int32Array, random: Random): void {
  for (let i = values.length - 1; i > 0; i -= 1) {
    const j = below(i + 1, random);
    const held = values[i] ?? 0;
    values[i] = values[j] ?? 0;
    values[j] = held;
  }
}
