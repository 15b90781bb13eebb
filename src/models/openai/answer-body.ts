import { setImmediate } from 'node:timers/promises';
import { CappedBytes } from '../../core/hostile-text.js';
import { isTooDeep, TOO_DEEP } from '../../core/json.js';
import type { CompletionRequest, TokenLogprob } from '../../ports/llm-client.js';
import { type AnswerBody, readPosition, UnreadableReplyError } from './reply.js';

/** Maximum size of an answer, derived from what was asked for. */
export interface AnswerLimits {
  /** Bytes of the whole answer, decompressed. */
  readonly bytes: number;
  /** Bytes without the log-probabilities. */
  readonly textBytes: number;
  /** Values without the log-probabilities. */
  readonly values: number;
  /** Tokens with log-probabilities; 0 = none were asked for, and any are skipped. */
  readonly positions: number;
}

const MIB = 2 ** 20;
/** Names, counts, and what services add of their own: citations, thoughts beyond `max_tokens`. */
const FRAME_BYTES = 2 * MIB;
const FRAME_VALUES = 20_000;
/** The longest tokens are 128 blanks; most have four bytes. */
const TOKEN_BYTES = 128;
/** A listed alternative: its text, also as a list of bytes, and its number. */
const ALTERNATIVE_BYTES = 256;
const MAX_BYTES = 64 * MIB;
/** The shortest repeated call has ten tokens and about as many values. */
const TOKEN_VALUES = 4;

/** The largest honest answer to a request; larger ones are refused before they are parsed. */
export function answerLimits({
  maxTokens,
  topLogprobs,
}: Pick<CompletionRequest, 'maxTokens' | 'topLogprobs'>): AnswerLimits {
  const textBytes = Math.min(MAX_BYTES, FRAME_BYTES + maxTokens * TOKEN_BYTES);
  const listed = topLogprobs === undefined ? 0 : topLogprobs + 1;
  return {
    bytes: Math.min(MAX_BYTES, textBytes + FRAME_BYTES + maxTokens * listed * ALTERNATIVE_BYTES),
    textBytes,
    values: FRAME_VALUES + maxTokens * TOKEN_VALUES,
    // Some services count thoughts beyond `max_tokens`.
    positions: topLogprobs === undefined ? 0 : FRAME_VALUES + maxTokens * 2,
  };
}

/** Enough to describe an answer that is not JSON. */
const TEXT_BYTES = 4_096;
/** Bytes that are scanned before other work gets a turn. */
const TURN_BYTES = 64 * 1024;

/**
 * Reads an answer piece by piece, so that no answer blocks the process: its size and shape are checked as it arrives, and each
 * token's log-probabilities are parsed alone. The connection is closed at the first byte too many.
 * @throws UnreadableReplyError for an answer that no request can have, SyntaxError for one that is not JSON
 */
export async function readAnswer(response: Response, limits: AnswerLimits): Promise<AnswerBody> {
  if (!isJson(response)) return { value: await readBeginning(response, TEXT_BYTES), logprobs: null };
  const scanner = new AnswerScanner(limits);
  let scanned = 0;
  for await (const chunk of piecesOf(response)) {
    scanner.push(chunk);
    scanned += chunk.length;
    if (scanned < TURN_BYTES) continue;
    scanned = 0;
    await nextTurn();
  }
  return scanner.end();
}

let lastTurn: Promise<unknown> = Promise.resolve();

/** A turn of the event loop for one of the answers that arrive at once. */
function nextTurn(): Promise<unknown> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}

/** The first bytes of a body as text; the rest is not read. */
export async function readBeginning(response: Response, bytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of piecesOf(response)) {
    pieces.push(chunk.subarray(0, bytes - size));
    size += chunk.length;
    if (size >= bytes) break;
  }
  return decode(pieces);
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    // A server may send one byte or megabytes at a time.
    for (let at = 0; at < chunk.length; at += TURN_BYTES) yield chunk.subarray(at, at + TURN_BYTES);
  }
}

function isJson({ headers }: Response): boolean {
  const type = headers.get('content-type')?.split(';')[0]?.trim() ?? '';
  return type.includes('application/json') || type.endsWith('+json');
}

function decode(pieces: readonly Uint8Array[]): string {
  return new TextDecoder().decode(Buffer.concat(pieces));
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Where the log-probabilities are: keys of the members around their list, '' for the first of the choices. */
const LIST_PATH = ['choices', '', 'logprobs', 'content'];
const LIST_LEVEL = LIST_PATH.length + 1;
const CHOICES_LEVEL = 2;
/** Longer than each of these keys. */
const KEY_CHARS = 16;
/** A token with its alternatives. */
const POSITION_BYTES = 64 * 1024;

/** Checks JSON byte by byte, and takes the list of log-probabilities out of it. */
class AnswerScanner {
  readonly #limits: AnswerLimits;
  readonly #text: CappedBytes;
  #position: Uint8Array[] = [];
  #positionBytes = 0;
  #positions: TokenLogprob[] | null = null;
  #positionCount = 0;
  #hasUnreadable = false;
  #bytes = 0;
  #values = 1;
  #levels = 0;
  #isListed = false;
  #isString = false;
  #isEscaped = false;
  /** The beginning of the last string near the root. */
  #string = '';
  /** The key at each level near the root; '' within a list, until its first comma. */
  readonly #keys: string[] = [];
  /** Offset in the chunk of what is not kept yet. */
  #from = 0;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
    this.#text = new CappedBytes(limits.textBytes);
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limits.bytes) throw tooMuch('is larger than', this.#limits.bytes, 'bytes');
    this.#from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#isString) at = this.#endOfString(chunk, at);
      else this.#step(chunk, at);
    }
    this.#keep(chunk, chunk.length);
  }

  #step(chunk: Uint8Array, at: number): void {
    switch (chunk[at] ?? 0) {
      case QUOTE:
        [this.#isString, this.#string] = [true, ''];
        break;
      case COLON:
        if (this.#levels < LIST_LEVEL) this.#keys[this.#levels] = this.#string;
        break;
      case COMMA:
        this.#separate(chunk, at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        this.#open(chunk, at);
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        this.#close(chunk, at);
        break;
      default:
    }
  }

  end(): AnswerBody {
    const value: unknown = JSON.parse(decode([this.#text.bytes()]));
    const isRead = this.#limits.positions > 0 && !this.#hasUnreadable;
    return { value, logprobs: isRead ? this.#positions : null };
  }

  /** @returns the offset of the closing quote, or the end of the chunk */
  #endOfString(chunk: Uint8Array, start: number): number {
    const isKey = this.#levels < LIST_LEVEL;
    let at = start;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isString = false;
        return at;
      } else if (isKey && this.#string.length < KEY_CHARS) this.#string += String.fromCharCode(byte);
    }
    return at;
  }

  #separate(chunk: Uint8Array, at: number): void {
    if (!this.#isListed) {
      this.#countValue();
      if (this.#levels === CHOICES_LEVEL && this.#keys[CHOICES_LEVEL] === '') this.#keys[CHOICES_LEVEL] = 'another';
    } else if (this.#levels === LIST_LEVEL) {
      this.#endPosition(chunk, at);
      this.#from = at + 1;
    }
  }

  #open(chunk: Uint8Array, at: number): void {
    this.#levels += 1;
    if (isTooDeep({ levels: this.#levels })) throw new UnreadableReplyError(`its answer ${TOO_DEEP}`);
    if (this.#isListed) return;
    this.#countValue();
    if (this.#levels < LIST_LEVEL) this.#keys[this.#levels] = '';
    if (this.#levels !== LIST_LEVEL || chunk[at] !== OPEN_LIST || !this.#isAtList()) return;
    this.#keep(chunk, at + 1);
    [this.#isListed, this.#positions] = [true, []];
  }

  #close(chunk: Uint8Array, at: number): void {
    this.#levels -= 1;
    if (!this.#isListed || this.#levels >= LIST_LEVEL) return;
    this.#endPosition(chunk, at);
    this.#isListed = false;
  }

  #isAtList(): boolean {
    return LIST_PATH.every((key, index) => this.#keys[index + 1] === key);
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > this.#limits.values) throw tooMuch('holds more than', this.#limits.values, 'values');
  }

  /** Keeps a copy of what is not kept yet, up to `to`. */
  #keep(chunk: Uint8Array, to: number): void {
    const piece = chunk.subarray(this.#from, to);
    this.#from = to;
    if (this.#isListed) {
      if (this.#limits.positions === 0) return;
      this.#positionBytes += piece.length;
      if (this.#positionBytes > POSITION_BYTES) throw tooMuch('has a token of more than', POSITION_BYTES, 'bytes');
      this.#position.push(piece.slice());
      return;
    }
    this.#text.push(piece);
    if (this.#text.truncated) throw tooMuch('has more text than', this.#limits.textBytes, 'bytes');
  }

  #endPosition(chunk: Uint8Array, at: number): void {
    this.#keep(chunk, at);
    if (this.#limits.positions === 0) return;
    const text = decode(this.#position);
    [this.#position, this.#positionBytes] = [[], 0];
    if (text.trim() === '') return;
    const { positions } = this.#limits;
    this.#positionCount += 1;
    if (this.#positionCount > positions) throw tooMuch('has more than', positions, 'tokens');
    if (this.#hasUnreadable) return;
    const position = readPosition(JSON.parse(text));
    if (position === null) this.#hasUnreadable = true;
    else this.#positions?.push(position);
  }
}

function tooMuch(what: string, most: number, unit: string): UnreadableReplyError {
  return new UnreadableReplyError(`its answer ${what} ${most} ${unit}, the most that this request can have`);
}

/** The same for an answer that is in memory. */
export function parseAnswer(json: string, limits: AnswerLimits): AnswerBody {
  const scanner = new AnswerScanner(limits);
  scanner.push(Buffer.from(json));
  return scanner.end();
}
