import {
  type CallHandler,
  type ExecutionContext,
  HttpStatus,
  type LoggerService,
  type NestInterceptor,
  Controller,
  Get,
  Query,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { catchError, concatMap, type Observable } from 'rxjs';
import { z } from 'zod';
import { type AuditEntry, AuditLog, AuditRecord } from '../../ports/audit-log.js';
import { callerOf } from '../guard/caller.js';
import { codeOf, problemOf } from '../problem.js';
import { pageQuery, RunId } from '../runs/run-views.js';

/** A request to be audited, with its outcome. */
export interface AuditedRequest extends Omit<AuditEntry, 'run_id' | 'times'> {
  readonly runs: readonly string[];
}

/** The outcome of a request that was neither refused nor failed. */
const DONE = 'done';

/** Marks a handler for the audit log with the name of its action, e.g. `run.cancel`. */
export const Audited = Reflector.createDecorator<string>();

/** The ids of the runs that an answer reports as started. */
const Started = z.union([
  z.object({ id: RunId }).transform(({ id }) => [id]),
  z.object({ runs: z.array(z.object({ id: RunId })) }).transform(({ runs }) => runs.map(({ id }) => id)),
]);

/** Names a request's runs for the audit log, for a handler whose answer repeats what the client sent. */
export function runNames({ locals }: Response): (id: string) => void {
  const runs = new Set<string>();
  locals[RUNS] = runs;
  return (id) => void runs.add(id);
}

const RUNS = 'audited-runs';

/** Records actor, action, runs and outcome of a request before it is answered. */
export class AuditInterceptor implements NestInterceptor {
  private readonly reflector = new Reflector();

  constructor(private readonly note: (request: AuditedRequest) => Promise<void>) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const action = this.reflector.get(Audited, context.getHandler()) as string | undefined;
    if (action === undefined) return next.handle();
    const request = context.switchToHttp().getRequest<Request<{ id?: string }>>();
    const { locals } = context.switchToHttp().getResponse<Response>();
    const { key, address } = callerOf(request);
    const note = (outcome: string, answer?: unknown): Promise<void> => {
      const named = locals[RUNS] as ReadonlySet<string> | undefined;
      const runs = named === undefined ? runsOf(answer, request.params.id) : [...named];
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

function runsOf(answer: unknown, id: string | undefined): readonly string[] {
  return Started.safeParse(answer).data ?? z.array(RunId).safeParse([id]).data ?? [];
}

const WINDOW_MS = 60_000;
/** Distinct entries counted per minute; beyond, those of changing actors and addresses are merged into one. */
const MOST_KINDS = 100;
const ELSEWHERE = 'many';

export type LoggedAudit = (request: AuditedRequest) => void;

interface AuditorOptions {
  readonly audit: LoggedAudit;
  readonly logger: Pick<LoggerService, 'error'>;
}

/**
 * Writes the audit log: successful changes at once; refusals and failures as counts per minute, so that they cannot flood it.
 * An entry that the store rejects is written to the process log, and the request is answered nevertheless.
 */
export class Auditor {
  private counted = new Map<string, AuditEntry>();
  private readonly timer = setInterval(() => void this.flush(), WINDOW_MS).unref();

  constructor(
    private readonly log: AuditLog,
    private readonly options: AuditorOptions,
  ) {}

  /** Resolves when a successful change is written, or writing has failed. */
  async note(request: AuditedRequest): Promise<void> {
    this.options.audit(request);
    const { runs, ...entry } = request;
    const entries = (runs.length === 0 ? [null] : runs).map((run_id) => ({ ...entry, run_id, times: 1 }));
    if (entry.outcome === DONE) await this.append(entries);
    else for (const each of entries) this.count(each);
  }

  refused(request: RefusedRequest): void {
    this.count({ ...request, run_id: null, times: 1 });
  }

  /** Writes the pending counts. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }

  private async flush(): Promise<void> {
    const counted = [...this.counted.values()];
    this.counted = new Map();
    await this.append(counted);
  }

  private count(entry: AuditEntry): void {
    const isOneTooMany = this.counted.size >= MOST_KINDS && !this.counted.has(keyOf(entry));
    const kind = isOneTooMany ? { ...entry, actor: null, address: ELSEWHERE, run_id: null } : entry;
    const { times } = this.counted.get(keyOf(kind)) ?? { times: 0 };
    this.counted.set(keyOf(kind), { ...kind, times: times + 1 });
  }

  private async append(entries: readonly AuditEntry[]): Promise<void> {
    try {
      await this.log.append(entries);
    } catch (error) {
      this.options.logger.error(`The audit log was not written: ${String(error)} ${JSON.stringify(entries)}`);
    }
  }
}

function keyOf({ action, actor, address, run_id, outcome }: AuditEntry): string {
  return JSON.stringify([action, actor, address, run_id, outcome]);
}

/** A path with `{names}` in it, and a method in upper case. */
interface Route {
  readonly method: string;
  readonly path: string;
}

const REFUSALS: readonly number[] = [HttpStatus.UNAUTHORIZED, HttpStatus.FORBIDDEN, HttpStatus.TOO_MANY_REQUESTS];

/** A request that was not admitted. */
export interface RefusedRequest {
  readonly action: string;
  readonly actor: string | null;
  readonly address: string;
  readonly outcome: string;
}

/** Reports requests answered with 401, 403 or 429; of their paths only known templates are recorded. */
export function noteRefusals(routes: readonly Route[], tell: (refused: RefusedRequest) => void) {
  const template = templateOf(routes);
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('finish', () => {
      const { statusCode } = response;
      if (!REFUSALS.includes(statusCode)) return;
      const { key, address } = callerOf(request);
      const action = `${request.method} ${template(request.path) ?? 'elsewhere'}`;
      tell({ action, actor: key?.name ?? null, address, outcome: codeOf(statusCode) });
    });
    next();
  };
}

/** The known path template that a request matches, with `{names}` for its parameters; null if there is none. */
function templateOf(routes: readonly Route[]): (path: string) => string | null {
  const paths = [...new Set(routes.map(({ path }) => path))].map((path) => ({ path, pattern: patternOf(path) }));
  return (asked) => paths.find(({ pattern }) => pattern.test(asked))?.path ?? null;
}

/** Matches like the router: case-insensitive, with or without a trailing slash. */
function patternOf(path: string): RegExp {
  const literal = path.split(/\{[^{}]+\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${literal.join('[^/]+')}/?$`, 'i');
}

export const AuditQuery = z.strictObject({
  ...pageQuery(1_000, 100),
  run_id: RunId.optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

export const AuditView = z.object({ entries: z.array(AuditRecord), next_cursor: z.string().nullable() });
export type AuditView = z.infer<typeof AuditView>;

@Controller('v1/audit')
export class AuditController {
  constructor(private readonly log: AuditLog) {}

  /** Requires a key with the scope `admin`. */
  @Get()
  async list(@Query({ schema: AuditQuery }) { limit, cursor, run_id }: AuditQuery): Promise<AuditView> {
    const { entries, next } = await this.log.list(limit, cursor ?? null, run_id);
    return { entries: [...entries], next_cursor: next };
  }
}
