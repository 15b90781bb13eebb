import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpModelProbe } from '../../../src/models/openai/connection.js';

const { signal } = new AbortController();
let server: Server;
let asked: { url: string; authorization: string | undefined }[];
let status: number;
let baseUrl: string;
beforeEach(async () => {
  asked = [];
  status = 200;
  server = createServer(({ url = '', headers }, response) => {
    asked.push({ url, authorization: headers.authorization });
    response.writeHead(status, { location: 'http://169.254.169.254/' }).end('{"data": []}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterEach(() => server.close());

const probe = (apiKey?: string): Promise<void> =>
  new HttpModelProbe({ baseUrls: [baseUrl, baseUrl], apiKey }).check(signal);

it('asks each server once for its models, with the key', async () => {
  await probe('secret');
  expect(asked).toEqual([{ url: '/v1/models', authorization: 'Bearer secret' }]);
  await probe();
  expect(asked[1]?.authorization).toBeUndefined();
});

it.each([404, 302, 405])('takes %i for an answer, and follows nothing', async (code) => {
  status = code;
  await expect(probe()).resolves.toBeUndefined();
  expect(asked).toHaveLength(1);
});

it.each([
  [401, /refuses the API key/],
  [403, /refuses the API key/],
  [503, /answers 503/],
])('takes %i for none', async (code, words) => {
  status = code;
  await expect(probe('secret')).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringMatching(words) as string,
  });
  await expect(probe('secret')).rejects.not.toMatchObject({ message: expect.stringContaining('secret') as string });
});

it('tells of a server that is not there, and of nothing where no model is configured', async () => {
  const gone = new HttpModelProbe({ baseUrls: ['http://127.0.0.1:9/v1'], apiKey: undefined });
  await expect(gone.check(signal)).rejects.toThrow(/127\.0\.0\.1:9 does not answer/);
  await new HttpModelProbe({ baseUrls: [], apiKey: undefined }).check(signal);
});
