import type { z } from 'zod';
import type { SandboxSession } from '../../src/ports/sandbox.js';

/** One execution whose result is stored by content; equal keys are never run twice. */
export interface Job<R> {
  readonly key: string;
  readonly kind: string;
  readonly schema: z.ZodType<R>;
  run(session: SandboxSession, signal: AbortSignal): Promise<R>;
  /** True when the sandbox is gone after this result (a deadline, a quota): the next job needs a fresh one. */
  closesSession(result: R): boolean;
}
