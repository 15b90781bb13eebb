import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpException } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type Problem, problemOf } from '../problem.js';

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
  ['ERR_HTTP_REQUEST_TIMEOUT', new HttpException('The request arrives too slowly.', 408)],
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

type Socket = IncomingMessage['socket'];

interface ConnectionLimits {
  /** Open connections; at more, the oldest without a request under way ends for the new one. */
  readonly connections: number;
  /** How long a client may leave an answer unread. */
  readonly unreadMs: number;
  /** Bytes of all answers that clients have not read yet. */
  readonly unreadBytes: number;
}

const CONNECTION_LIMITS: ConnectionLimits = {
  connections: 2_048,
  unreadMs: 30_000,
  unreadBytes: 256 * 1024 * 1024,
};

/** The open connections of a server: nobody keeps others out by holding them, or fills the memory by not reading. */
export class Connections {
  /** In the order in which they came, each with its requests whose answer has not ended. */
  private readonly open = new Map<Duplex, number>();

  constructor(
    server: Server,
    private readonly limits: ConnectionLimits,
  ) {
    server.on('connection', (socket: Socket) => {
      if (this.open.size >= limits.connections) this.makeRoom(socket);
      this.open.set(socket, 0);
      socket.once('close', () => this.open.delete(socket));
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      // A client that asks again before it was answered would have hundreds of answers made in one turn.
      if (this.isAnswering(socket)) {
        socket.destroy();
        return;
      }
      this.count(socket, 1);
      response.once('close', () => {
        this.count(socket, -1);
      });
    });
    // Node tells it when nothing has moved, also within one large write.
    server.setTimeout(limits.unreadMs, (socket: Socket) => {
      if (this.isAnswering(socket) && socket.writableLength === 0) socket.setTimeout(limits.unreadMs);
      else socket.destroy();
    });
  }

  /** Whether a request on this connection has no answer yet: one to what follows would be taken for its. */
  isAnswering(socket: Duplex): boolean {
    return (this.open.get(socket) ?? 0) > 0;
  }

  /** Whether so much waits to be read that no further answer should be made. */
  isFull(): boolean {
    let bytes = 0;
    for (const socket of this.open.keys()) bytes += socket.writableLength;
    return bytes > this.limits.unreadBytes;
  }

  private makeRoom(newest: Socket): void {
    for (const [socket, requests] of this.open) {
      if (requests > 0) continue;
      socket.destroy();
      this.open.delete(socket);
      return;
    }
    newest.destroy();
  }

  private count(socket: Socket, change: number): void {
    const requests = this.open.get(socket);
    if (requests !== undefined) this.open.set(socket, requests + change);
  }
}
