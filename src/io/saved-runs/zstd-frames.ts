/** The stream would take far more memory or time than its content is worth. */
export class UnpackingBomb extends Error {}

const MIB = 1024 * 1024;
const MAGIC = 0xfd2fb528;
/** Skippable frames differ in the last four bits. */
const SKIPPABLE = 0x184d2a5;
/** As much as `zstd` itself accepts without being asked for more. */
const LARGEST_WINDOW = 128 * MIB;
/** For each block the unpacker moves its whole window: that of `zstd --long` is 1,024 times the content of a block. */
const MOST_MOVED = { harmless: 8 * 1024 * MIB, perByte: 8_192 };

/**
 * Follows the frames and blocks of a Zstandard stream, before it is unpacked (RFC 8878, section 3.1). What is not Zstandard is
 * left to the unpacker.
 */
export class ZstdFrames {
  private rest = Buffer.alloc(0);
  private skipped = 0;
  private frame: Frame | null = null;
  private isOver = false;
  private moved = 0;

  /** @throws UnpackingBomb for a frame with too large a window */
  take(chunk: Buffer): void {
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    while (!this.isOver) {
      const past = Math.min(this.skipped, bytes.length);
      this.skipped -= past;
      bytes = bytes.subarray(past);
      const taken = this.skipped > 0 ? 0 : this.frame === null ? this.takeHeader(bytes) : this.takeBlock(bytes);
      if (taken === 0) break;
      bytes = bytes.subarray(taken);
    }
    this.rest = Buffer.from(this.isOver ? [] : bytes);
  }

  /** @param unpacked bytes so far @throws UnpackingBomb for so many small blocks that they take minutes */
  requireWorth(unpacked: number): void {
    if (this.moved <= Math.max(MOST_MOVED.harmless, MOST_MOVED.perByte * unpacked)) return;
    throw new UnpackingBomb('its blocks are too small for its window; pack it again with `zstd`');
  }

  /** @returns the length of the header; 0 = it is not all there yet */
  private takeHeader(bytes: Buffer): number {
    if (bytes.length < 8) return 0;
    const magic = bytes.readUInt32LE(0);
    if (magic >>> 4 === SKIPPABLE) {
      this.skipped = bytes.readUInt32LE(4);
      return 8;
    }
    this.isOver = magic !== MAGIC;
    if (this.isOver) return 0;
    const { length, ...frame } = describeFrame(bytes);
    if (bytes.length < length) return 0;
    if (frame.window > LARGEST_WINDOW)
      throw new UnpackingBomb(
        `it needs a window of more than ${LARGEST_WINDOW / MIB} MiB; pack it again without --long`,
      );
    this.frame = frame;
    return length;
  }

  private takeBlock(bytes: Buffer): number {
    if (this.frame === null || bytes.length < 3) return 0;
    const header = bytes.readUIntLE(0, 3);
    const isRepeated = ((header >> 1) & 3) === 1;
    this.skipped = isRepeated ? 1 : header >> 3;
    this.moved += this.frame.window;
    if ((header & 1) === 1) {
      this.skipped += this.frame.checksum;
      this.frame = null;
    }
    return 3;
  }
}

interface Frame {
  /** Bytes that the unpacker keeps. */
  readonly window: number;
  /** Bytes after the last block. */
  readonly checksum: number;
}

/** @param bytes from the magic number on; the window is only known if there are `length` of them */
function describeFrame(bytes: Buffer): Frame & { readonly length: number } {
  const flags = bytes.readUInt8(4);
  const isSingle = (flags & 32) !== 0;
  const dictionary = [0, 1, 2, 4][flags & 3] ?? 0;
  const size = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0;
  const length = (isSingle ? 5 : 6) + dictionary + size;
  const window = isSingle ? readNumber(bytes.subarray(length - size, length)) : windowOf(bytes.readUInt8(5));
  return { length, window, checksum: (flags & 4) === 0 ? 0 : 4 };
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function readNumber(bytes: Buffer): number {
  return bytes.reduceRight((value, byte) => value * 256 + byte, 0);
}
