import { connect, type Socket } from 'node:net';

/** What came back on a connection of its own before it was closed, and how long that took. */
export interface RawAnswer {
  readonly text: string;
  readonly status: number;
  readonly seconds: number;
}

/** Sends bytes as no client library would; `feed` may go on sending. */
export function rawRequest(url: string, bytes: string, feed: (socket: Socket) => void = () => undefined) {
  const { port } = new URL(url);
  const started = performance.now();
  return new Promise<RawAnswer>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    let text = '';
    socket.write(bytes);
    feed(socket);
    socket
      .on('data', (chunk) => (text += chunk.toString()))
      .on('error', () => undefined)
      .on('close', () => {
        const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
        resolve({ text, status, seconds: (performance.now() - started) / 1_000 });
      });
  });
}

/** The problem in a raw answer; throws when there is none. */
export function problemIn({ text }: RawAnswer): { status: number; code: string } {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  if (!/^content-type: application\/problem\+json/im.test(head)) throw new Error(`No problem:\n${text}`);
  return JSON.parse(body) as { status: number; code: string };
}
