import { setTimeout as sleep } from 'node:timers/promises';

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

/** After the command itself has ended: how long its streams may stay silent, and how long they may go on at all. */
const QUIET_MS = 200;
const DRAIN_MS = 5_000;

/** The streams of a command. */
export interface Listening {
  /** Settles when they end; never rejects. */
  readonly ended: Promise<unknown>;
  readonly isEnded: () => boolean;
  /** By performance.now(). */
  readonly lastByteAt: () => number;
}

/** A grandchild that inherited stdout keeps the stream open for as long as it likes; its words are nobody's output. */
export async function drained(listening: Listening): Promise<void> {
  const from = performance.now();
  while (!listening.isEnded() && performance.now() - from < DRAIN_MS) {
    if (performance.now() - Math.max(listening.lastByteAt(), from) > QUIET_MS) return;
    await Promise.race([listening.ended, sleep(QUIET_MS / 4)]);
  }
}
