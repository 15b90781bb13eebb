import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { DynamicModule, LoggerService, Type } from '@nestjs/common';
import { type NestApplication, NestFactory } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { BadInputError, UnavailableError } from '../core/errors/errors.js';
import { hider } from '../core/secrets.js';
import { AuditLog } from '../ports/audit-log.js';
import { RunService } from '../runs/run-service.js';
import { isRunRequest, MAX_BODY_BYTES, MAX_SMALL_BODY_BYTES, requireReadable } from './guard/bodies.js';
import { guard, type GuardOptions, harden, REPORT_POLICY, VIEWER_POLICY } from './guard/guard.js';
import { HardenedExpressAdapter } from './guard/hardened-adapter.js';
import { isLoopback } from './guard/caller.js';
import { serveDocument } from './openapi/docs-page.js';
import { AuditInterceptor, Auditor, type LoggedAudit } from './ops/audit.js';
import { ProblemFilter, RequestPipe } from './problem.js';

/** How long answers in progress may take after the service has stopped listening. */
const DRAIN_MS = 1_000;
/** How often idle connections are closed meanwhile. */
const IDLE_CHECK_MS = 20;

export interface ServeOptions extends GuardOptions {
  readonly host: string;
  /** 0 = any free port; the returned url contains it. */
  readonly port: number;
  /** Secrets that must not appear in answers or logs. */
  readonly secrets: readonly string[];
  /** bestk's version for the OpenAPI document; absent = the document is not served. */
  readonly version?: string;
  readonly logger: LoggerService;
  /** Logs audited requests, in addition to the audit log. */
  readonly audit: LoggedAudit;
  /** Folder of the built viewer. */
  readonly web?: string;
}

export interface HttpServer {
  readonly url: string;
  /** Stops listening, ends the streams, then destroys the module. Idempotent. */
  close(): Promise<void>;
}

/**
 * Serves the controllers of `module`, which provides RunService and AuditLog.
 * @throws BadInputError off loopback without API keys, ListenError, StoreUnavailableError
 */
export async function startHttp(module: Type | DynamicModule, options: ServeOptions): Promise<HttpServer> {
  const { host, port, apiKeys, logger } = options;
  if (apiKeys.length === 0 && !isLoopback(host)) {
    throw new BadInputError(
      `is needed to listen on ${host}.`,
      { field: 'BESTK_API_KEYS' },
      'Set it, or listen on 127.0.0.1.',
    );
  }
  const settings = { logger, bodyParser: false, abortOnError: false };
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest's options are a class in name only
  const app = await NestFactory.create<NestApplication>(module, new HardenedExpressAdapter(), settings);
  const auditor = new Auditor(app.get(AuditLog, { strict: false }), options);
  prepare(app, options, auditor);
  const runs = app.get(RunService, { strict: false });
  try {
    await app.listen(port, host);
  } catch (error) {
    await close(app, runs, auditor);
    throw isListenFailure(error) ? new ListenError(host, port, error) : error;
  }
  let closed: Promise<void> | null = null;
  return { url: urlOf(app, host), close: () => (closed ??= close(app, runs, auditor)) };
}

function prepare(app: NestApplication, options: ServeOptions, auditor: Auditor): void {
  app.use(harden);
  if (options.web !== undefined) app.use(serveWebPage(options.web));
  for (const step of guard(options, (refused) => {
    auditor.refused(refused);
  }))
    app.use(step);
  app.useBodyParser('raw', { type: isRunRequest, limit: MAX_BODY_BYTES, inflate: false });
  app.useBodyParser('json', { limit: MAX_SMALL_BODY_BYTES, verify: requireReadable, inflate: false });
  app.useGlobalPipes(new RequestPipe());
  app.useGlobalFilters(new ProblemFilter(options.logger, hider(options.secrets)));
  app.useGlobalInterceptors(new AuditInterceptor((request) => auditor.note(request)));
  if (options.version !== undefined) serveDocument(app, options.version);
}

async function close(app: NestApplication, runs: RunService, auditor: Auditor): Promise<void> {
  const server = app.getHttpServer() as ClosableServer;
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  runs.close();
  const idle = setInterval(() => {
    server.closeIdleConnections();
  }, IDLE_CHECK_MS);
  const late = setTimeout(() => {
    server.closeAllConnections();
  }, DRAIN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(late);
  await auditor.close();
  await app.close();
}

/** The part of node's http.Server that is used. */
interface ClosableServer {
  address(): { port: number };
  close(done: () => void): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

function urlOf(app: NestApplication, host: string): string {
  const { port } = (app.getHttpServer() as ClosableServer).address();
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** By its fields, because an error from another realm is not an instance of Error. */
function isListenFailure(error: unknown): boolean {
  const call = (error as { syscall?: unknown } | null)?.syscall;
  return call === 'listen' || call === 'getaddrinfo';
}

/** The address is in use, not local, or does not exist. */
export class ListenError extends UnavailableError {
  readonly code = 'cannot-listen';
  readonly retryable = false;

  constructor(host: string, port: number, cause: unknown) {
    super(
      `Cannot listen on ${host}:${port}: ${String(cause)}`,
      'Choose another host or port, or stop the program that listens there.',
      { cause },
    );
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface WebFile {
  readonly type: string;
  readonly body: Buffer;
  readonly packed: Buffer;
  readonly tag: string;
  /** Cacheable forever: its name changes with its content. */
  readonly lasting: boolean;
  /** Content-Security-Policy. */
  readonly policy: string;
}

/**
 * Serves the viewer's files: `/` and `/assets/*`, and the page also as `/report` with a different policy. They hold no data
 * and need no key; all other requests are passed on.
 * @param folder written by the build; if it does not exist, `/` says so
 */
function serveWebPage(folder: string) {
  const files = readFiles(folder);
  return (request: Request, response: Response, next: NextFunction): void => {
    const { path, method } = request;
    const isPage = path === '/' || path === '/report' || path.startsWith('/assets/');
    if (!isPage || !['GET', 'HEAD'].includes(method)) next();
    else send(files.get(path), request, response);
  };
}

function send(file: WebFile | undefined, request: Request, response: Response): void {
  if (file === undefined) {
    const text = request.path === '/' ? 'The viewer was not built: npm run build.\n' : 'There is no such file.\n';
    response.status(404).type('text/plain').send(text);
    return;
  }
  response.set({
    'Content-Type': file.type,
    'Content-Security-Policy': file.policy,
    'Cache-Control': file.lasting ? 'public, max-age=31536000, immutable' : 'no-cache',
    ETag: file.tag,
    Vary: 'Accept-Encoding',
  });
  const packs = request.acceptsEncodings('gzip') !== false;
  if (packs) response.setHeader('Content-Encoding', 'gzip');
  response.send(packs ? file.packed : file.body);
}

/** Reads all files at once: they are few and small, and no path of a request ever reaches the disk. */
function readFiles(folder: string): ReadonlyMap<string, WebFile> {
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = new Map(
    names
      .filter((name) => statSync(join(folder, name)).isFile())
      .map((name) => [name === 'index.html' ? '/' : `/${name.replaceAll('\\', '/')}`, readFile(join(folder, name))]),
  );
  const page = files.get('/');
  return page === undefined ? files : files.set('/report', { ...page, policy: REPORT_POLICY });
}

function readFile(path: string): WebFile {
  const body = readFileSync(path);
  const type = TYPES[extname(path)] ?? 'application/octet-stream';
  const tag = `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;
  return { type, body, packed: gzipSync(body), tag, lasting: !path.endsWith('.html'), policy: VIEWER_POLICY };
}
