import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import { PassThrough, Transform, type Readable, type TransformCallback } from 'node:stream';
import { Decompress } from 'fzstd';

/** A file that grows more than this in unpacking, and beyond a gigabyte, is a bomb and no saved run. */
const MOST_GROWTH = 200;
const HARMLESS = 1024 * 1024 * 1024;
const CHUNK = 1024 * 1024;

/** The file grows without end in unpacking, or beyond what is taken. */
export class UnpackingBomb extends Error {}

/**
 * What a file holds, unpacked when its name ends in `.gz` or `.zst`.
 * @param most bytes of a packed file, unpacked
 * @throws what reading throws, UnpackingBomb, and the unpacker's error for a damaged archive (behind what stands before it)
 */
export async function* unpacked(file: string, most = Infinity): AsyncGenerator<Buffer> {
  const packed = createReadStream(file, { highWaterMark: CHUNK });
  const unpacker = unpackerOf(file);
  if (unpacker === null) {
    for await (const chunk of packed) yield chunk as Buffer;
    return;
  }
  const out = new PassThrough({ highWaterMark: CHUNK });
  const running = pipeline(packed, unpacker, guard(packed, most), out);
  running.catch(() => undefined);
  for await (const chunk of out as Readable) yield chunk as Buffer;
  await running;
}

function unpackerOf(file: string): Transform | null {
  if (file.endsWith('.gz')) return createGunzip({ chunkSize: CHUNK });
  return file.endsWith('.zst') ? zstd() : null;
}

function zstd(): Transform {
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback): void {
      attempt(done, () => {
        decompress.push(chunk);
      });
    },
    flush(done: TransformCallback): void {
      attempt(done, () => {
        decompress.push(new Uint8Array(0), true);
      });
    },
  });
  const decompress = new Decompress((piece) => stream.push(Buffer.from(piece)));
  return stream;
}

function attempt(done: TransformCallback, work: () => void): void {
  try {
    work();
    done();
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Ends the reading of a file that grows without end, or beyond `most` bytes. */
function guard(packed: { readonly bytesRead: number }, most: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback): void {
      size += chunk.length;
      const isBomb = size > HARMLESS && size > MOST_GROWTH * Math.max(1, packed.bytesRead);
      if (size > most) done(new UnpackingBomb(`it comes to more than ${most} bytes`));
      else if (isBomb) done(new UnpackingBomb(`it grows more than ${MOST_GROWTH} times in unpacking`));
      else done(null, chunk);
    },
  });
}
