import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { BadInputError } from '../../../src/core/errors/errors.js';
import {
  EngineDiskFullError,
  EngineUnavailableError,
  ImageMissingError,
  SandboxLostError,
  SandboxRefusedError,
} from '../../../src/core/errors/unavailable.js';
import { isImageReference } from '../../../src/core/run/issue.js';
import { connectDocker, engineCall } from '../../../src/sandbox/docker/engine.js';
import { QUIET_MS } from '../../../src/sandbox/container/container.js';
import { LABEL, OWNER } from '../../../src/sandbox/container/sandbox-owner.js';
import { startExec } from '../../../src/sandbox/docker/container.js';
import { DockerSandbox } from '../../../src/sandbox/docker/sandbox.js';
import { DockerImages, type ImageOptions, markOf, sweepPreparedImages } from '../../../src/sandbox/docker/images.js';
import { BOUNDLESS } from '../../../src/ports/sandbox.js';
import { hostileSegment, hostileString } from '../../long/http/fuzz/hostile.js';

const OPTIONS: ImageOptions = {
  pull: 'missing',
  cacheBytes: undefined,
  room: BOUNDLESS,
  configFolder: '/nowhere',
  say: () => undefined,
};

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listening(answer: RequestListener): Promise<{ server: Server; host: string }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return { server, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function imagesOf(answer: RequestListener): Promise<{ images: DockerImages; server: Server; host: string }> {
  const { server, host } = await listening(answer);
  return { images: new DockerImages(connectDocker(`tcp://${host}`), OPTIONS), server, host };
}

const json = { 'content-type': 'application/json' };
const go = new AbortController().signal;

describe('an image is asked for', () => {
  it('by its own address and nowhere else, whatever its name', async () => {
    const asked: string[] = [];
    const { images } = await imagesOf(({ url = '' }, response) => {
      asked.push(url);
      response.writeHead(200, json).end('{"Id": "sha256:1", "RepoTags": []}');
    });
    const names = fc.oneof(
      fc.stringMatching(/^([a-z0-9.]{1,9}(:[0-9]{1,5})?\/)?[a-z0-9]+([._-][a-z0-9]+){0,2}(\/[a-z]+){0,2}(:\w{1,9})?$/),
      hostileSegment,
      hostileString,
      fc.tuple(hostileSegment, hostileSegment).map((parts) => parts.join('/')),
    );
    const numRuns = Number(process.env.FUZZ_REQUESTS ?? 300);
    await fc.assert(
      fc.asyncProperty(names, async (name) => {
        asked.length = 0;
        const failure = await images.look(name).then(
          () => null,
          (error: unknown) => error,
        );
        if (!isImageReference(name)) {
          expect([failure, asked]).toEqual([expect.any(BadInputError), []]);
        } else {
          expect([failure, asked]).toEqual([null, [expect.stringMatching(/^\/images\/[\w.%/-]+\/json$/)]]);
          expect(decodeURIComponent(asked[0] ?? '')).toBe(`/images/${name}/json`);
          expect(new URL(asked[0] ?? '', 'http://x').pathname).toBe(asked[0]);
        }
      }),
      { numRuns, seed: Number(process.env.FUZZ_SEED ?? 7) },
    );
  });
});

describe('an engine', () => {
  it.each(['http://OTHER/', 'foo:bar', '//OTHER/x', 'http://127.0.0.1:1/', 'http://['])(
    'that sends elsewhere, to %s, is not followed',
    async (location) => {
      const elsewhere: string[] = [];
      const other = await listening(({ url = '' }, response) => {
        elsewhere.push(url);
        response.end('{}');
      });
      const { images } = await imagesOf((_, response) => {
        response
          .writeHead(301, { ...json, location: location.replace('OTHER', other.host) })
          .end('{"message": "moved"}');
      });
      await expect(images.look('a/b:1')).rejects.toMatchObject({
        constructor: EngineUnavailableError,
        message: expect.stringContaining('301') as string,
      });
      await sleep(50);
      expect(elsewhere).toEqual([]);
    },
  );

  it('whose answer does not end is not held', async () => {
    const { images } = await imagesOf((_, response) => {
      response.writeHead(200, json);
      const piece = Buffer.alloc(1024 * 1024, 'x');
      const more = (): void => {
        if (!response.destroyed) response.write(piece, () => setImmediate(more));
      };
      more();
    });
    await expect(images.look('a')).rejects.toThrow(/larger than 33554432 bytes/);
  });

  it('that breaks off, says no JSON or no image is told apart', async () => {
    const cut = await imagesOf((_, response) => {
      response.writeHead(200, { ...json, 'content-length': '100' }).write('{');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(cut.images.look('a')).rejects.toBeInstanceOf(EngineUnavailableError);
    const missing = await imagesOf((_, response) => {
      response.writeHead(404).end('no such thing');
    });
    await expect(missing.images.look('a')).rejects.toBeInstanceOf(ImageMissingError);
  });

  it('that resets a connection nobody waits for any more ends nothing', async () => {
    let given: Socket | undefined;
    const { server, host } = await imagesOf((_, response) => {
      response.writeHead(500).end();
    });
    server.on('upgrade', (_request, socket: Socket) => {
      given = socket;
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhead');
    });
    const exec = connectDocker(`tcp://${host}`).getExec('e');
    const stream = await engineCall({ container: 'c' }, () => exec.start({ hijack: true, stdin: true }));
    given?.resetAndDestroy();
    await sleep(50);
    expect(stream.destroyed).toBe(true);
  });

  it('that knows how a command ended says so before its streams have been waited for', async () => {
    const { server, host } = await imagesOf(({ method }, response) => {
      const said = method === 'POST' ? { Id: 'e' } : { Running: false, ExitCode: 3 };
      response.writeHead(method === 'POST' ? 201 : 200, json).end(JSON.stringify(said));
    });
    server.on('upgrade', (_request, socket: Socket) => {
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    });
    let knownAt = Infinity;
    const running = await startExec(connectDocker(`tcp://${host}`).getContainer('c'), null, {
      argv: ['t'],
      outputBytes: 9,
      onExit: () => {
        knownAt = performance.now();
      },
    });
    expect(await running.exit).toBe(3);
    expect(performance.now() - knownAt).toBeGreaterThan(QUIET_MS);
    running.stop();
  });

  it('that refuses to start a command keeps no connection for its input', async () => {
    const { server, host } = await imagesOf((_, response) => {
      response.writeHead(409, json).end('{"message": "the container is not running"}');
    });
    // As the real one, it waits for the rest of a request without limit.
    server.keepAliveTimeout = 0;
    const closed = new Promise((resolve) => {
      server.on('connection', (socket: Socket) => socket.on('close', resolve));
    });
    const exec = connectDocker(`tcp://${host}`).getExec('e');
    const started = engineCall({ container: 'c' }, () => exec.start({ hijack: true, stdin: true }));
    await expect(started).rejects.toBeInstanceOf(SandboxLostError);
    await closed;
  });

  it('that does not answer when a command is to start is asked in a way that can be ended', async () => {
    let ends: unknown;
    const start = ({ abortSignal }: { readonly abortSignal?: AbortSignal }): Promise<never> => {
      ends = abortSignal;
      return Promise.reject(Object.assign(new Error('late'), { name: 'TimeoutError' }));
    };
    const container = { id: 'c', exec: () => Promise.resolve({ start }) } as unknown as Parameters<typeof startExec>[0];
    const started = startExec(container, null, { argv: ['t'], outputBytes: 9 });
    await expect(started).rejects.toBeInstanceOf(EngineUnavailableError);
    expect(ends).toBeInstanceOf(AbortSignal);
  });

  it.each([
    ['no JSON', 'nonsense\n', EngineUnavailableError],
    ['a full disk', '{"error": "write /x: no space left on device"}\n', EngineDiskFullError],
  ])('that tells of a pull with %s fails the pull', async (_what, progress, failure) => {
    const { images } = await imagesOf(({ url = '' }, response) => {
      if (url.startsWith('/images/create')) response.writeHead(200, json).end(progress);
      else response.writeHead(200, json).end('[]');
    });
    await expect(images.pull('a/b:1', go)).rejects.toBeInstanceOf(failure);
  });
});

it.each([
  [undefined, '10800'],
  [1_200, '10800'],
  [10_800, '12600'],
])('a container for a command of %p seconds lives for %s', async (longestS, lives) => {
  const made: string[] = [];
  const { host } = await listening((request, response) => {
    if (request.method === 'GET') return response.writeHead(200, json).end('{"Id": "sha256:1", "RepoTags": []}');
    return request
      .on('data', (piece: Buffer) => made.push(piece.toString()))
      .on('end', () => {
        response.writeHead(404, json).end('{"message": "no such image"}');
      });
  });
  const limits = { cpus: 1, memoryMb: 64, diskMb: 64, pids: 16, outputBytes: 1024 };
  const sandbox = new DockerSandbox({ dockerHost: `tcp://${host}`, concurrency: 1, limits, ttlS: 10_800 });
  const spec = {
    image: 'a',
    workdir: '/srv',
    baseCommit: null,
    purpose: 'test',
    ...(longestS !== undefined && { longestS }),
  };
  await expect(sandbox.open(spec, go)).rejects.toBeInstanceOf(ImageMissingError);
  const { Entrypoint } = JSON.parse(made.join('')) as { Entrypoint: string[] };
  expect(Entrypoint.at(-1)).toBe(lives);
});

it('an engine that refuses everything, as one that expects TLS, is not available', async () => {
  const { images } = await imagesOf((_, response) => {
    response.writeHead(400).end('Client sent an HTTP request to an HTTPS server.\n');
  });
  await expect(images.look('a')).rejects.toBeInstanceOf(EngineUnavailableError);
});

it('a container that the engine refuses to make is asked for once, and the engine’s reason is told', async () => {
  const made: string[] = [];
  const { host } = await listening(({ method, url = '' }, response) => {
    if (method === 'GET') return response.writeHead(200, json).end('{"Id": "sha256:1", "RepoTags": []}');
    if (url.startsWith('/containers/create')) made.push(url);
    return response.writeHead(400, json).end('{"message": "Range of CPUs is from 0.01 to 2.00"}');
  });
  const limits = { cpus: 64, memoryMb: 64, diskMb: 64, pids: 16, outputBytes: 1024 };
  const sandbox = new DockerSandbox({ dockerHost: `tcp://${host}`, concurrency: 1, limits, ttlS: 60 });
  const spec = { image: 'a', workdir: '/srv', baseCommit: null, purpose: 'test' };
  // It has answered before, so an outage would be waited for.
  await sandbox.describeImage('a', go);
  await expect(sandbox.open(spec, go)).rejects.toMatchObject({
    constructor: SandboxRefusedError,
    retryable: false,
    message: expect.stringMatching(/of a: .*Range of CPUs is from 0\.01 to 2\.00/) as string,
  });
  expect(made).toHaveLength(1);
});

it('an image that stays under a name of others, as a digest of another registry, does not count as removed', async () => {
  const asked: string[] = [];
  const listed = ['stays', 'goes'].map((name) => ({
    ...{ Id: `sha256:${name}`, Size: 1_000_000, RepoDigests: [] },
    RepoTags: [`${name}:latest`, `bestk-pulled/${markOf(name)}:1.another`],
  }));
  const { host } = await listening(({ method, url = '' }, response) => {
    if (method === 'DELETE') asked.push(decodeURIComponent(url));
    const left = listed.filter(({ Id }) => Id === 'sha256:stays' || !asked.some((path) => path.includes('/goes')));
    response.writeHead(200, json).end(JSON.stringify(url.startsWith('/images/json') ? left : []));
  });
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  const images = new DockerImages(connectDocker(`tcp://${host}`), { ...OPTIONS, cacheBytes: 1, say });
  await images.makeRoom();
  expect(asked).toHaveLength(4);
  expect(said).toEqual(['Removed image goes:latest (1 MB), used longest ago.']);
});

describe('a sweep', () => {
  it('leaves alone what the engine removes already, and is kept from nothing by what it cannot remove', async () => {
    const removed: string[] = [];
    const labels = { [LABEL.mark]: '1', [LABEL.expires]: '1' };
    const { host } = await listening(({ method, url = '' }, response) => {
      const [, id = ''] = /^\/containers\/(\w+)/.exec(url) ?? [];
      if (method === 'GET') {
        const states = { stuck: 'removing', busy: 'exited', left: 'exited' };
        const listed = Object.entries(states).map(([Id, State]) => ({ Id, State, Labels: labels }));
        response.writeHead(200, json).end(JSON.stringify(url.startsWith('/containers') ? listed : []));
        // One at which the engine is stuck is never answered.
      } else if (id !== 'stuck') {
        if (id === 'left') removed.push(id);
        response.writeHead(id === 'busy' ? 500 : 204, json).end(id === 'busy' ? '{"message": "it is busy"}' : '');
      }
    });
    const limits = { cpus: 1, memoryMb: 64, diskMb: 64, pids: 16, outputBytes: 1024 };
    const sandbox = new DockerSandbox({ dockerHost: `tcp://${host}`, concurrency: 1, limits, ttlS: 60 });
    await expect(sandbox.sweep()).rejects.toMatchObject({ message: expect.stringContaining('it is busy') as string });
    expect(removed).toEqual(['left']);
  });

  it('removes prepared images of dead neighbours, and of others once the container that they were made from has expired', async () => {
    const [, pid = '', start = ''] = OWNER.split('/');
    const neighbour = OWNER.split('/')[0] ?? '';
    const expired = '1';
    const valid = String(Math.ceil(Date.now() / 1000) + 3_600);
    const images = Object.entries({
      own: [OWNER, expired],
      dead: [`${neighbour}/${pid}/${start}0`, valid],
      rebooted: [`elsewhere/${pid}/${start}`, expired],
      elsewhere: [`elsewhere/${pid}/${start}`, valid],
      unlabelled: ['elsewhere/1/1', undefined],
    });
    const listed = images.map(([Id, [owner, expires]]) => ({
      Id: `sha256:${Id}`,
      Labels: { [LABEL.owner]: owner, [LABEL.expires]: expires },
    }));
    const removed: string[] = [];
    const { host } = await listening(({ method, url = '' }, response) => {
      if (method === 'DELETE') removed.push(/sha256%3A(\w+)/.exec(url)?.[1] ?? url);
      response.writeHead(200, json).end(JSON.stringify(method === 'GET' && url.startsWith('/images') ? listed : []));
    });
    await sweepPreparedImages(connectDocker(`tcp://${host}`));
    expect(removed).toEqual(['dead', 'rebooted']);
  });
});
