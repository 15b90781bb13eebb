import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Ids } from '../../ports/sandbox.js';
import type { Container } from './container.js';

const OUTPUT_BYTES = 64 * 1024;
const TIMEOUT_MS = 60_000;

export interface PlainCommand {
  readonly argv: readonly string[];
  /** Absent = the image's own. */
  readonly user?: Ids;
  readonly stdin?: Uint8Array;
  readonly outputBytes?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface PlainResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/**
 * A short command of our own in the container.
 * @throws SandboxLostError when it does not end in time, the signal's reason, and what starting it throws.
 */
export async function runPlain(container: Container, command: PlainCommand): Promise<PlainResult> {
  const { argv, user, stdin, signal, timeoutMs = TIMEOUT_MS, outputBytes = OUTPUT_BYTES } = command;
  signal?.throwIfAborted();
  const running = await container.start({ argv, user, stdin, outputBytes, signal });
  const over = new AbortController();
  const cut = new Promise<never>((_, reject) => {
    const late = setTimeout(() => {
      reject(new SandboxLostError(`${argv[0] ?? ''} did not end within ${String(timeoutMs / 1000)} s`));
    }, timeoutMs);
    const onAbort = (): void => {
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { once: true, signal: over.signal });
    over.signal.addEventListener('abort', () => {
      clearTimeout(late);
    });
  });
  try {
    const exitCode = await Promise.race([running.exit, cut]);
    return { exitCode, stdout: running.stdout.bytes(), stderr: running.stderr.bytes() };
  } finally {
    over.abort();
    running.stop();
    running.exit.catch(() => undefined);
  }
}
