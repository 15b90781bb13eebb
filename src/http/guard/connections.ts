import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

type Socket = IncomingMessage['socket'];

export interface ConnectionLimits {
  /** Open connections; at more, the oldest without a request under way ends for the new one. */
  readonly connections: number;
  /** How long a client may leave an answer unread. */
  readonly unreadMs: number;
  /** Bytes of all answers that clients have not read yet. */
  readonly unreadBytes: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
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
