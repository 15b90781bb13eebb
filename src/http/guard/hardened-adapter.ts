import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpException } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type Problem, problemOf } from '../problem.js';

const MAX_HEADER_BYTES = 16 * 1024;
const CHECK_EVERY_MS = 1_000;

/** Limits on a connection before a request is complete, so that slow clients cannot hold connections. */
const LIMITS = {
  headersTimeout: 10_000,
  // For a whole request with its body; enough for the largest upload at 2.4 MB/s.
  requestTimeout: 3_600_000,
  keepAliveTimeout: 5_000,
  maxHeaderSize: MAX_HEADER_BYTES,
  connectionsCheckingInterval: CHECK_EVERY_MS,
  // A missing Host header is answered by bestk with a problem document.
  requireHostHeader: false,
};

/** Malformed requests, by the code of Node's error; all others get 400. */
const BROKEN = new Map<string | undefined, HttpException>([
  ['HPE_HEADER_OVERFLOW', new HttpException(`The headers are larger than ${MAX_HEADER_BYTES} bytes.`, 431)],
  ['ERR_HTTP_REQUEST_TIMEOUT', new HttpException('The request arrives too slowly.', 408)],
]);
const EXPECTS = new HttpException('Only 100-continue may be expected.', 417);
const UNREAD = new HttpException('Too many answers wait to be read.', 503);
const NO_HTTP = new HttpException('This is not an HTTP request.', 400);

/** Express on a server that does not wait for slow clients and answers connection errors with problem documents. */
export class HardenedExpressAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const answer = this.getInstance<(request: IncomingMessage, response: ServerResponse) => void>();
    const server: Server = createServer(LIMITS);
    const connections = new Connections(server, CONNECTION_LIMITS);
    server.on('request', (request, response) => {
      if (connections.isFull()) refuseForNow(response);
      else answer(request, response);
    });
    // The total size of headers is limited; a limit on their number would silently drop the rest.
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

/** Raw answer for a connection without a request to respond to. */
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

type Socket = IncomingMessage['socket'];

interface ConnectionLimits {
  /** Most open connections; above that, the oldest idle one is closed for a new one, else the oldest that still sends. */
  readonly connections: number;
  /** How long a client may leave an answer unread, in ms. */
  readonly unreadMs: number;
  /** Limit on the bytes of all answers not yet read by clients. */
  readonly unreadBytes: number;
}

const CONNECTION_LIMITS: ConnectionLimits = {
  connections: 2_048,
  unreadMs: 30_000,
  unreadBytes: 256 * 1024 * 1024,
};

/** A server's open connections: clients cannot keep others out by holding connections, or fill the memory by not reading. */
export class Connections {
  /** In order of arrival, each with its unanswered request. */
  private readonly open = new Map<Duplex, IncomingMessage | null>();

  constructor(
    server: Server,
    private readonly limits: ConnectionLimits,
  ) {
    server.on('connection', (socket: Socket) => {
      if (this.open.size >= limits.connections) this.makeRoom(socket);
      this.open.set(socket, null);
      socket.once('close', () => this.open.delete(socket));
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      // Refuses pipelining, with which one client could have hundreds of answers produced in one turn.
      if (this.isAnswering(socket)) {
        socket.destroy();
        return;
      }
      this.open.set(socket, request);
      response.once('close', () => {
        if (this.open.has(socket)) this.open.set(socket, null);
      });
    });
    // Node calls this if nothing has moved for that long, even within one large write.
    server.setTimeout(limits.unreadMs, (socket: Socket) => {
      if (this.isAnswering(socket) && socket.writableLength === 0) socket.setTimeout(limits.unreadMs);
      else socket.destroy();
    });
  }

  /** Whether a request on this connection is unanswered: an answer to later input would be taken for its answer. */
  isAnswering(socket: Duplex): boolean {
    return this.open.get(socket) != null;
  }

  /** Whether so many bytes are unread that no further answer should be produced. */
  isFull(): boolean {
    let bytes = 0;
    for (const socket of this.open.keys()) bytes += socket.writableLength;
    return bytes > this.limits.unreadBytes;
  }

  private makeRoom(newest: Socket): void {
    let oldest: Duplex = newest;
    for (const [socket, request] of this.open) {
      if (request === null) {
        oldest = socket;
        break;
      }
      if (oldest === newest && !request.complete) oldest = socket;
    }
    oldest.destroy();
    this.open.delete(oldest);
  }
}
