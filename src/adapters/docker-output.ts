const HEADER_BYTES = 8;
const STDERR = 2;

/** First `cap` bytes of a stream; what follows is counted and dropped, so that memory stays flat. */
export class CappedBytes {
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #seen = 0;

  constructor(readonly cap: number) {}

  push(chunk: Buffer): void {
    this.#seen += chunk.length;
    const room = this.cap - this.#kept;
    if (room <= 0) return;
    // A copy: a slice would keep the whole socket buffer alive.
    const part = Buffer.from(chunk.subarray(0, room));
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  get truncated(): boolean {
    return this.#seen > this.cap;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/**
 * Bytes as text, decoded once: decoding chunk by chunk breaks every character that spans two. Invalid bytes become
 * U+FFFD; a character cut in half by our own cap is left out, since that damage is ours and not the command's.
 */
export function decodeOutput(bytes: Uint8Array, truncated: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: truncated });
}

/**
 * The engine's multiplexed stream taken apart: frames of one byte stream (1 stdout, 2 stderr), three zero bytes, four
 * bytes big-endian length, payload (Docker Engine API, "Stream format"). Frames and chunks do not align.
 */
export class FrameReader {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #left = 0;

  constructor(
    private readonly onStdout: (chunk: Buffer) => void,
    private readonly onStderr: (chunk: Buffer) => void,
  ) {}

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at += this.#left === 0 ? this.#takeHeader(chunk, at) : this.#takePayload(chunk, at);
  }

  #takeHeader(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#header, this.#headerFilled, at, at + HEADER_BYTES - this.#headerFilled);
    this.#headerFilled += taken;
    if (this.#headerFilled === HEADER_BYTES) {
      this.#left = this.#header.readUInt32BE(4);
      this.#headerFilled = 0;
    }
    return taken;
  }

  #takePayload(chunk: Buffer, at: number): number {
    const payload = chunk.subarray(at, at + this.#left);
    this.#left -= payload.length;
    if (this.#header[0] === STDERR) this.onStderr(payload);
    else this.onStdout(payload);
    return payload.length;
  }
}
