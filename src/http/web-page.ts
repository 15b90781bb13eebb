import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { REPORT_POLICY, VIEWER_POLICY } from './guard/guard.js';
import type { NextFunction, Request, Response } from 'express';

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
  /** Its name changes with its content. */
  readonly lasting: boolean;
  /** Content-Security-Policy. */
  readonly policy: string;
}

/**
 * Serves the viewer's files: `/` and `/assets/*`, and the page again as `/report`, under a policy of its own. They hold no
 * data and need no key; everything else goes on.
 * @param folder where the build left them; without them `/` says so
 */
export function serveWebPage(folder: string) {
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

/** All of them at once: they are few and small, and no path of a request ever reaches the disk. */
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
