const MB = 1024 * 1024;

/** How much of a file is parsed at once, in bytes; what is larger is rejected without being held. */
export interface ReadBounds {
  readonly line: number;
  /** A document over several lines is held whole. */
  readonly document: number;
  /** In a line or document, and its lines: they cost more than its bytes. */
  readonly values: number;
  /** Of a file, packed or not. */
  readonly total: number;
  /** What whoever has a larger one can do. */
  readonly next: string;
}

/** Of one's own files: no trajectory is as long. */
export const LOCAL_BOUNDS: ReadBounds = {
  line: 128 * MB,
  document: 256 * MB,
  values: Infinity,
  total: Infinity,
  next: 'leave out what is no step',
};

/** Of anybody's upload: six times the longest line of the R2E-Gym runs. */
export const UPLOAD_BOUNDS: ReadBounds = {
  line: 16 * MB,
  document: 16 * MB,
  values: 1_000_000,
  total: 8 * 1024 * MB,
  next: 'on the command line `bestk rescore` and `bestk report` take more',
};

/** What is wrong with a line or document of more values than that. */
export function tooManyValues({ values, next }: ReadBounds): string {
  return `holds more than ${values} values; ${next}`;
}

/** Bytes in words. */
export function inMegabytes(bytes: number): string {
  return `${bytes / MB} MB`;
}
