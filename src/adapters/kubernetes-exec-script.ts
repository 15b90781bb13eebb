import { randomBytes } from 'node:crypto';
import { BadInputError } from '../core/errors.js';
import type { ExecPlan } from './container.js';

/*
 * What the exec channel of a cluster lacks, done by a shell around the command:
 *
 *   environment   the call has none; names the cluster itself adds are taken away
 *   limits        no core files, no single file above the disk limit (as ulimits of a container of Docker)
 *   end of stdin  under protocol v4 a client cannot end stdin without losing the exit code, so `head` counts the bytes
 *   exit notice   the true exit code comes only after every process that inherited the streams has let them go, which a
 *                 daemon never does; so the shell says when the command itself has ended, and with what code: on both
 *                 streams, as each comes at its own pace and what precedes the notice is all that the command wrote there
 *
 * The notice carries a nonce, because the command writes to the same streams. A command that reads the nonce from its
 * parent's arguments gains nothing: it may exit with any code anyway.
 */
const SCRIPT = String.raw`
mark=$1 bytes=$2 blocks=$3
shift 3
unset KUBERNETES_PORT KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR KUBERNETES_PORT_443_TCP_PORT \
  KUBERNETES_PORT_443_TCP_PROTO KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_SERVICE_PORT_HTTPS
ulimit -c 0 2>/dev/null
ulimit -f "$blocks" 2>/dev/null
while [ "$1" != -- ]; do export "$1"; shift; done
shift
if [ "$bytes" = - ]; then "$@"
else { head -c "$bytes" <&3 3<&- & } 3<&0 | "$@"
fi
code=$?
printf '\036bestk-exit %s %s\036' "$mark" "$code"
printf '\036bestk-exit %s %s\036' "$mark" "$code" >&2
exit "$code"
`;

/** Bytes of a block of ulimit -f, by POSIX. */
const BLOCK = 512;
const NAME = /^[A-Za-z_]\w*$/;
const END = 0x1e;

/** A command wrapped for the exec channel. */
export interface Wrapped {
  readonly argv: readonly string[];
  /** What the notice of its end is known by. */
  readonly mark: string;
}

/** @throws BadInputError for a variable whose name no shell can set */
export function wrapped({ argv, env = {}, stdin }: ExecPlan, maxFileBytes: number): Wrapped {
  const wrong = Object.keys(env).find((name) => !NAME.test(name));
  if (wrong !== undefined) throw new BadInputError(`"${wrong}" is not the name of a variable`);
  const mark = randomBytes(12).toString('hex');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const bytes = stdin === undefined ? '-' : String(stdin.length);
  const blocks = String(Math.floor(maxFileBytes / BLOCK));
  return {
    argv: ['/bin/sh', '-c', SCRIPT, 'sh', mark, bytes, blocks, ...variables, '--', ...argv],
    mark,
  };
}

/** Finds the notice in a stream, however it is cut into pieces, and takes it out. */
export class ExitNotice {
  readonly #start: Buffer;
  #held = Buffer.alloc(0);
  #code: number | null = null;

  constructor(mark: string) {
    this.#start = Buffer.from(`\x1ebestk-exit ${mark} `);
  }

  /** Exit code of the command, null until it has ended. */
  get code(): number | null {
    return this.#code;
  }

  /** What of `chunk`, and of what was held back before, belongs to the command. */
  take(chunk: Buffer): Buffer {
    if (this.#code !== null) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const at = bytes.indexOf(this.#start);
    if (at === -1) return this.#keepBack(bytes, bytes.length - this.#beginningAtEnd(bytes));
    const from = at + this.#start.length;
    const end = bytes.indexOf(END, from);
    if (end === -1) return this.#keepBack(bytes, at);
    this.#code = Number(bytes.toString('latin1', from, end));
    this.#held = Buffer.alloc(0);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end + 1)]);
  }

  /** What was held back and turned out to be the command's. */
  rest(): Buffer {
    return this.#keepBack(this.#held, this.#held.length);
  }

  #keepBack(bytes: Buffer, from: number): Buffer {
    this.#held = Buffer.from(bytes.subarray(from));
    return bytes.subarray(0, from);
  }

  /** Length of the longest end of `bytes` that the notice may begin with. */
  #beginningAtEnd(bytes: Buffer): number {
    const most = Math.min(bytes.length, this.#start.length - 1);
    for (let length = most; length > 0; length -= 1) {
      if (bytes.subarray(bytes.length - length).equals(this.#start.subarray(0, length))) return length;
    }
    return 0;
  }
}
