import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OPCODE = { binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** One exec as the server sees it. */
export interface ServedExec {
  readonly protocol: string;
  readonly command: readonly string[];
  /** Messages of the client, the byte of the channel first. */
  readonly received: Buffer[];
  /** Pings of the client. */
  pings: number;
  /** Whether the client closed the connection, or sent an end of a stream. */
  ended: boolean;
  send(channel: number, bytes: Uint8Array): void;
  /** The first half of a message. */
  sendHalf(channel: number, bytes: Uint8Array): void;
  /** Breaks the connection without a word. */
  breakOff(): void;
}

export interface FakeApiServer {
  readonly kubeconfig: string;
  readonly execs: ServedExec[];
  close(): Promise<void>;
}

export interface FakeApiOptions {
  /** Protocols the server knows, the best first. */
  readonly protocols: readonly string[];
  /** Plays an exec; called after the connection is open. */
  readonly onExec?: (exec: ServedExec) => void;
  /** Status with which the n-th connection, from 1, is refused; undefined = it is taken. */
  readonly refuse?: (nth: number) => number | undefined;
  /** As a connection that is dead without a word: pings get no answer. */
  readonly ignoresPings?: boolean;
  /** Answers everything else. */
  readonly onRequest?: RequestListener;
}

/** An API server in miniature: the exec channel over web sockets, and whatever else a test wants answered. */
export async function fakeApiServer(options: FakeApiOptions): Promise<FakeApiServer> {
  const execs: ServedExec[] = [];
  const sockets = new Set<Duplex>();
  let connections = 0;
  const server = createServer(options.onRequest);
  server.on('upgrade', (request, socket: Duplex) => {
    sockets.add(socket);
    const refused = options.refuse?.((connections += 1));
    if (refused !== undefined) return void socket.end(`HTTP/1.1 ${String(refused)} no\r\nContent-Length: 0\r\n\r\n`);
    const offered = String(request.headers['sec-websocket-protocol']).split(/, ?/);
    const protocol = options.protocols.find((name) => offered.includes(name)) ?? '';
    const accept = createHash('sha1')
      .update(`${String(request.headers['sec-websocket-key'])}${GUID}`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
    );
    const command = new URL(request.url ?? '', 'http://x').searchParams.getAll('command');
    const exec = served(socket, { protocol, command, ignoresPings: options.ignoresPings ?? false });
    execs.push(exec);
    options.onExec?.(exec);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    kubeconfig: kubeconfigFor((server.address() as AddressInfo).port),
    execs,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
      await Promise.resolve();
    },
  };
}

function served(
  socket: Duplex,
  { ignoresPings, ...given }: Pick<ServedExec, 'protocol' | 'command'> & { readonly ignoresPings: boolean },
): ServedExec {
  const exec: ServedExec = {
    ...given,
    received: [],
    pings: 0,
    ended: false,
    send: (channel, bytes) => void socket.write(message(channel, bytes)),
    sendHalf: (channel, bytes) => void socket.write(message(channel, bytes).subarray(0, bytes.length / 2)),
    breakOff: () => void socket.destroy(),
  };
  let rest = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let taken = takeFrame(rest); taken !== null; taken = takeFrame(rest)) {
      rest = rest.subarray(taken.length);
      if (taken.opcode === OPCODE.ping) {
        exec.pings += 1;
        if (!ignoresPings) socket.write(Buffer.from([0x80 | OPCODE.pong, 0]));
      } else if (taken.opcode === OPCODE.close || taken.payload[0] === 255) exec.ended = true;
      else exec.received.push(taken.payload);
    }
  });
  return exec;
}

/** A frame of the server's: one message, not masked (RFC 6455, section 5.2). */
function message(channel: number, bytes: Uint8Array): Buffer {
  const payload = Buffer.concat([Buffer.from([channel]), bytes]);
  const head =
    payload.length < 126
      ? Buffer.from([0x80 | OPCODE.binary, payload.length])
      : Buffer.concat([Buffer.from([0x80 | OPCODE.binary, 127, 0, 0, 0, 0]), u32(payload.length)]);
  return Buffer.concat([head, payload]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The first frame of a client's, which are masked; null until it is whole. */
function takeFrame(bytes: Buffer): { opcode: number; payload: Buffer; length: number } | null {
  if (bytes.length < 2) return null;
  const short = (bytes[1] ?? 0) & 0x7f;
  const more = short === 126 ? 2 : short === 127 ? 8 : 0;
  const from = 2 + more + 4;
  if (bytes.length < from) return null;
  const size = more === 2 ? bytes.readUInt16BE(2) : more === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < from + size) return null;
  const mask = bytes.subarray(from - 4, from);
  const payload = Buffer.from(bytes.subarray(from, from + size)).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return { opcode: (bytes[0] ?? 0) & 0xf, payload: Buffer.from(payload), length: from + size };
}

function kubeconfigFor(port: number): string {
  const file = join(mkdtempSync(join(tmpdir(), 'bestk-api-')), 'config');
  const cluster = { server: `http://127.0.0.1:${String(port)}`, 'insecure-skip-tls-verify': true };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
    'current-context': 'x',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}
