import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server does with one chat completion request. */
export type ScriptedAnswer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly json: unknown }
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly text: string | Buffer }
  /** Sends headers and the first half of the JSON, then ends the response as if it were complete. */
  | { readonly truncated: unknown }
  /** Sends nothing, or the headers and the first bytes of a body, and keeps the connection open. */
  | { readonly hang: 'before-headers' | 'in-body' }
  /** Closes the connection without an answer, or in the middle of one. */
  | { readonly reset: 'before-headers' | 'in-body' };

/** Routes of models with a head, beside that of chat: vLLM's three, and SGLang's. */
const ROUTES = ['/v1/chat/completions', '/classify', '/pooling', '/score', '/v1/classify'];

/** A chat completion request as it came over the wire; what a head is asked has no messages. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly [member: string]: unknown;
}

/** @param callIndex requests before this one, from 0 @param route as it was asked, when a server asks */
export type AnswerChat = (
  body: ChatBody,
  callIndex: number,
  route?: string,
) => ScriptedAnswer | Promise<ScriptedAnswer>;

export interface SeenCall {
  readonly body: ChatBody;
  readonly headers: IncomingMessage['headers'];
  /** True once the connection was closed before the answer was complete. */
  abandoned: boolean;
}

/** A model as the list of models names it, with what servers add. */
export interface ServedModel {
  readonly id: string;
  readonly [member: string]: unknown;
}

/** A real HTTP server that speaks what bestk uses of the OpenAI API and of the routes of heads, with scripted answers. */
export class ModelServer {
  readonly calls: SeenCall[] = [];
  /** Most requests that were under way at once. */
  peak = 0;
  readonly #models: readonly ServedModel[];
  readonly #answer: AnswerChat;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #active = 0;

  private constructor(answer: AnswerChat, models: readonly ServedModel[]) {
    this.#answer = answer;
    this.#models = models;
  }

  /** @param at port 0 = any free one */
  static async start(
    answer: AnswerChat,
    models: readonly (string | ServedModel)[] = ['judge'],
    { port = 0, host = '127.0.0.1' } = {},
  ): Promise<ModelServer> {
    const served = models.map((model) => (typeof model === 'string' ? { id: model } : model));
    const server = new ModelServer(answer, served);
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject).listen(port, host, resolve);
    });
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Listens again where it listened before it was closed. @param port of `baseUrl` */
  async reopen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET' && request.url === '/v1/models') {
      const data = this.#models.map((model) => ({ ...model, object: 'model' }));
      send(response, { json: { object: 'list', data } });
      return;
    }
    const text = await readBody(request);
    const route = request.url ?? '';
    if (request.method !== 'POST' || !ROUTES.includes(route)) {
      send(response, { status: 404, json: { error: { message: `no route ${route}` } } });
      return;
    }
    const call: SeenCall = { body: JSON.parse(text) as ChatBody, headers: request.headers, abandoned: false };
    this.#active += 1;
    this.peak = Math.max(this.peak, this.#active);
    response.on('close', () => {
      this.#active -= 1;
      call.abandoned = !response.writableFinished;
    });
    const index = this.calls.push(call) - 1;
    send(response, await this.#answer(call.body, index, route));
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const JSON_TYPE = { 'content-type': 'application/json' };

function send(response: ServerResponse, answer: ScriptedAnswer): void {
  if ('json' in answer) {
    response.writeHead(answer.status ?? 200, { ...JSON_TYPE, ...answer.headers }).end(JSON.stringify(answer.json));
  } else if ('text' in answer) {
    response.writeHead(answer.status ?? 200, { 'content-type': 'text/html', ...answer.headers }).end(answer.text);
  } else if ('truncated' in answer) {
    const whole = JSON.stringify(answer.truncated);
    response.writeHead(200, JSON_TYPE).end(whole.slice(0, Math.floor(whole.length / 2)));
  } else if ('hang' in answer) {
    if (answer.hang === 'in-body') response.writeHead(200, JSON_TYPE).write('{"choices":');
  } else if (answer.reset === 'before-headers') {
    response.socket?.resetAndDestroy();
  } else {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '1000' });
    response.write('{"choices":', () => response.socket?.resetAndDestroy());
  }
}
