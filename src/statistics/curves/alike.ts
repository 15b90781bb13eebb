import type { BestCurve } from './best-at-k.js';

/** Two chances that differ by less are one, computed in two ways. */
const ROUNDING = 1e-9;

/** Finds the presets that no issue tells apart: at every K as good, and of all candidates as right. */
export class Alike {
  /** Places in the presets' order; groups of one are left out. */
  private groups: readonly (readonly number[])[];

  constructor(private readonly presets: readonly string[]) {
    this.groups = [presets.map((_, index) => index)];
  }

  /** @param curves of one issue @param picks whether each preset's pick is right; both in the presets' order */
  add(curves: readonly BestCurve[], picks: readonly boolean[]): void {
    const isSame = (a: number, b: number): boolean =>
      picks[a] === picks[b] && areEqual(curves[a]?.values, curves[b]?.values);
    this.groups = this.groups.flatMap((group) => split(group, isSame));
  }

  report(): string[][] {
    return this.groups
      .filter((group) => group.length > 1)
      .map((group) => group.map((index) => this.presets[index] ?? ''));
  }
}

function split(group: readonly number[], isSame: (a: number, b: number) => boolean): readonly (readonly number[])[] {
  const [first, ...others] = group;
  if (first === undefined || others.length === 0) return [];
  const same = others.filter((other) => isSame(first, other));
  if (same.length === others.length) return [group];
  return [
    [first, ...same],
    ...split(
      others.filter((other) => !isSame(first, other)),
      isSame,
    ),
  ];
}

function areEqual(a: Float64Array | undefined, b: Float64Array | undefined): boolean {
  if (a === b) return true;
  return a?.every((value, index) => Math.abs(value - (b?.[index] ?? NaN)) < ROUNDING) === true;
}
