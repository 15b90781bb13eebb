const END = 0x1e;
/** Digits of an exit code. A longer number is output of the command and not held back. */
const LONGEST_CODE = 3;

/** Finds the notice of a command's end (see exec.ts) in a stream, across chunks, and removes it. */
export class ExitNotice {
  readonly #start: Buffer;
  #held = Buffer.alloc(0);
  #code: number | null = null;

  constructor(mark: string) {
    this.#start = Buffer.from(`\x1ebestk-exit ${mark} `);
  }

  /** Exit code of the command; null until it has ended. */
  get code(): number | null {
    return this.#code;
  }

  /** The part of `chunk`, and of bytes held back earlier, that belongs to the command. */
  take(chunk: Buffer): Buffer {
    if (this.#code !== null) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (let at = bytes.indexOf(this.#start); at !== -1; at = bytes.indexOf(this.#start, at + 1)) {
      const from = at + this.#start.length;
      const said = bytes.subarray(from, from + LONGEST_CODE + 1);
      const end = said.indexOf(END);
      const code = said.toString('latin1', 0, Math.max(0, end));
      if (/^\d+$/.test(code)) {
        this.#code = Number(code);
        this.#held = Buffer.alloc(0);
        return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from + end + 1)]);
      }
      if (end === -1 && said.length <= LONGEST_CODE) return this.#keepBack(bytes, at);
    }
    return this.#keepBack(bytes, bytes.length - this.#beginningAtEnd(bytes));
  }

  /** Bytes that were held back but belong to the command. */
  rest(): Buffer {
    return this.#keepBack(this.#held, this.#held.length);
  }

  #keepBack(bytes: Buffer, from: number): Buffer {
    this.#held = Buffer.from(bytes.subarray(from));
    return bytes.subarray(0, from);
  }

  /** Length of the longest suffix of `bytes` that is a prefix of the notice. */
  #beginningAtEnd(bytes: Buffer): number {
    const most = Math.min(bytes.length, this.#start.length - 1);
    for (let length = most; length > 0; length -= 1) {
      if (bytes.subarray(bytes.length - length).equals(this.#start.subarray(0, length))) return length;
    }
    return 0;
  }
}
