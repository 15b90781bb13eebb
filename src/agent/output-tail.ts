/** Bytes kept from the end of an output. */
const KEPT = 32 * 1024;

/** The end of an output of any length: what a test runner says last matters most, and a sandbox keeps the beginning. */
export class OutputTail {
  private pieces: Uint8Array[] = [];
  private size = 0;

  readonly take = (piece: Uint8Array): void => {
    this.pieces.push(piece.slice(-KEPT));
    this.size += piece.length;
    if (this.pieces.length > 64) this.pieces = [this.end()];
  };

  /** A beginning that was kept, and the end behind a line that tells the gap. */
  behind(beginning: string): string {
    const missing = this.size - Buffer.byteLength(beginning) - KEPT;
    if (missing <= 0) return beginning;
    // The first line is rarely whole.
    const end = this.end()
      .toString('utf8')
      .replace(/^[^\n]*\n/, '');
    return `${beginning}\n[… ${missing} bytes left out …]\n${end}`;
  }

  private end(): Buffer {
    return Buffer.concat(this.pieces).subarray(-KEPT);
  }
}
