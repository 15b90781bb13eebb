/** The number at an index known to be inside; spares the hot loops a check for `undefined`. */
export function real(values: Float64Array, index: number): number {
  return values[index] as number;
}

/** The whole number at an index known to be inside. */
export function whole(values: Int32Array, index: number): number {
  return values[index] as number;
}
