const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Demultiplexes the engine's stream: frames of one stream byte (1 stdout, 2 stderr), three zero bytes, a four-byte
 * big-endian length, and the payload (Docker Engine API, "Stream format"). Frames and chunks do not align.
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
