/** How the log of a test command is read. */
export type LogFormat = 'pytest' | 'unittest' | 'sympy' | 'go' | 'cargo' | 'javascript' | 'java' | 'ctest' | 'json';

/** The tests that decide whether a patch resolves its issue, as a data set has them. */
export interface HiddenRow {
  /** `owner/name`; null when the row does not say it. */
  readonly repo: string | null;
  /** Of the repository; some versions are tested in another way. */
  readonly version: string | null;
  /** Null when the tests are part of the image. */
  readonly testPatch: string | null;
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  /** Shell command with `{files}` or `{modules}`; null = the repository's own. */
  readonly command: string | null;
  /** Null = what the command tells. */
  readonly log: LogFormat | null;
}

/** All that tells the answer to an instance. */
export interface SealedContent {
  /** Null when the row has none. */
  readonly tests: HiddenRow | null;
  /** The patch that its authors wrote; null when the row has none. */
  readonly gold: string | null;
}

/**
 * What tells the answer to an instance, out of reach from the moment its row is read: it is in no enumeration and no JSON,
 * and only grading and reports may import this room to open it.
 */
export class Sealed {
  readonly #read: () => SealedContent;

  /** @param read asked when somebody opens it: who samples and selects is not kept by a damaged label */
  constructor(read: () => SealedContent) {
    this.#read = read;
  }

  /** @throws BadInputError naming file, line and field of what cannot be read */
  open(): SealedContent {
    return this.#read();
  }

  toJSON(): string {
    return 'sealed';
  }
}
