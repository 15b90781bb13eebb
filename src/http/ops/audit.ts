import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { catchError, concatMap, type Observable } from 'rxjs';
import { z } from 'zod';
import type { AuditEntry } from '../../ports/audit-log.js';
import { callerOf } from '../guard/caller.js';
import { problemOf } from '../problem.js';
import { RunId } from '../runs/run-params.js';

/** One request that somebody made of runs, and what came of it. */
export interface AuditedRequest extends Omit<AuditEntry, 'run_id' | 'times'> {
  readonly runs: readonly string[];
}

/** The outcome of what was not refused and did not fail. */
export const DONE = 'done';

/** Marks what is written down, by what it does: `run.cancel`. */
export const Audited = Reflector.createDecorator<string>();

/** What answers say about the runs that they started. */
const Started = z.union([
  z.object({ id: z.string() }).transform(({ id }) => [id]),
  z.object({ runs: z.array(z.object({ id: z.string() })) }).transform(({ runs }) => runs.map(({ id }) => id)),
]);

/** Has written down who did what with which runs, and what came of it, before it is answered. */
export class AuditInterceptor implements NestInterceptor {
  private readonly reflector = new Reflector();

  constructor(private readonly note: (request: AuditedRequest) => Promise<void>) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const action = this.reflector.get(Audited, context.getHandler()) as string | undefined;
    if (action === undefined) return next.handle();
    const request = context.switchToHttp().getRequest<Request<{ id?: string }>>();
    const { key, address } = callerOf(request);
    const note = (outcome: string, answer?: unknown): Promise<void> => {
      const runs = Started.safeParse(answer).data ?? z.array(RunId).safeParse([request.params.id]).data ?? [];
      return this.note({ action, actor: key?.name ?? null, address, runs, outcome });
    };
    return next.handle().pipe(
      concatMap(async (answer: unknown) => {
        await note(DONE, answer);
        return answer;
      }),
      catchError(async (error: unknown) => {
        await note(problemOf(error).code);
        throw error;
      }),
    );
  }
}
