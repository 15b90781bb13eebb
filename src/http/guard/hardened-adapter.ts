import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpException } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type Problem, problemOf } from '../problem.js';
import { CONNECTION_LIMITS, Connections } from './connections.js';

const MAX_HEADER_BYTES = 16 * 1024;
const CHECK_EVERY_MS = 1_000;

/** What a connection may take before there is a request: nobody holds one by sending a header a minute. */
const LIMITS = {
  headersTimeout: 10_000,
  // Of a whole request with its body: the largest upload, at 2.4 MB/s.
  requestTimeout: 3_600_000,
  keepAliveTimeout: 5_000,
  maxHeaderSize: MAX_HEADER_BYTES,
  connectionsCheckingInterval: CHECK_EVERY_MS,
  // A missing Host is answered by us, as a problem.
  requireHostHeader: false,
};

/** What is no HTTP, by the code of Node's error; everything else is a 400. */
const BROKEN = new Map<string | undefined, HttpException>([
  ['HPE_HEADER_OVERFLOW', new HttpException(`The headers are larger than ${MAX_HEADER_BYTES} bytes.`, 431)],
  ['ERR_HTTP_REQUEST_TIMEOUT', new HttpException('The request comes too slowly.', 408)],
]);
const EXPECTS = new HttpException('Only 100-continue may be expected.', 417);
const UNREAD = new HttpException('Too many answers wait to be read.', 503);
const NO_HTTP = new HttpException('This is no HTTP request.', 400);

/** Express on a server that does not wait for slow clients, and that says as a problem what is wrong with a connection. */
export class HardenedExpressAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const answer = this.getInstance<(request: IncomingMessage, response: ServerResponse) => void>();
    const server: Server = createServer(LIMITS);
    const connections = new Connections(server, CONNECTION_LIMITS);
    server.on('request', (request, response) => {
      if (connections.isFull()) refuseForNow(response);
      else answer(request, response);
    });
    // The size of all headers is limited; a limit on their number would drop the others in silence.
    server.maxHeadersCount = 0;
    server.on('clientError', (error, socket) => {
      if (connections.isAnswering(socket)) socket.destroy();
      else refuse(error, socket);
    });
    server.on('checkExpectation', (_request, { socket }: ServerResponse) => {
      socket?.end(bareAnswer(problemOf(EXPECTS)));
    });
    this.httpServer = server;
  }
}

function refuseForNow(response: ServerResponse): void {
  const problem = problemOf(UNREAD);
  const headers = { 'Content-Type': 'application/problem+json', 'Retry-After': '5', Connection: 'close' };
  response.writeHead(problem.status, headers).end(JSON.stringify(problem));
}

function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else socket.end(bareAnswer(problemOf(BROKEN.get(error.code) ?? NO_HTTP)), () => socket.destroy());
}

/** An answer without a request that a response could belong to. */
function bareAnswer(problem: Problem): string {
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
