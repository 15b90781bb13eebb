import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DockerImages, type ImageOptions } from '../../../src/sandbox/docker/images.js';
import { TRIES } from '../../../src/core/async/retries.js';
import { ResourceGate } from '../../../src/sandbox/container/host-resources.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { GivenResources } from '../../fakes/given-room.js';
import { hasRegistry, startRegistry } from '../../fixtures/registry.js';
import { containersOf, docker, dockerSandbox, go, sh, spec } from './docker-harness.js';

const MIB = 1024 * 1024;
const cli = (...args: string[]): string => execFileSync('docker', args, { encoding: 'utf8' }).trim();
const isThere = (image: string): boolean => cli('images', '-q', image) !== '';

it('a sandbox waits for room, starts by itself when there is, and leaves nothing behind when none comes', async () => {
  const room = new GivenResources({ memory: 1 });
  const sandbox = dockerSandbox({
    gate: new ResourceGate({ room, warn: () => undefined, patienceMs: 400, lookEveryMs: 20 }),
  });
  await expect(sandbox.open(spec, go)).rejects.toMatchObject({ code: 'memory-low' });
  expect(await containersOf()).toEqual([]);
  const opening = sandbox.open(spec, go);
  await sleep(200);
  expect(await containersOf()).toEqual([]);
  room.free.memory = Infinity;
  await using first = await opening;
  room.free.memory = 1;
  const second = sandbox.open(spec, go);
  second.catch(() => undefined);
  await sleep(800);
  // What runs goes on, and who waits for it is not told no.
  expect((await sh(first, 'echo on')).stdout).toBe('on\n');
  await sandbox.closeAll();
  await expect(second).rejects.toBeInstanceOf(SandboxLostError);
});

it('a registry that is absent is asked three times in all, and by nobody else again', async () => {
  const said: string[] = [];
  const say = (text: string): void => void said.push(text);
  const room = new GivenResources();
  const images = new DockerImages(docker, { pull: 'missing', cacheBytes: undefined, room, configFolder: '/none', say });
  const away = images.pull('localhost:1/away:1', go);
  await expect(away).rejects.toMatchObject({ code: 'image-pull-failed', retryable: false });
  expect(said.filter((text) => text.includes('Retrying'))).toHaveLength(TRIES - 1);
});

const describeHere = hasRegistry() ? describe : describe.skip;
if (!hasRegistry()) console.warn('Skipped: pulls from a real registry (apt-get install docker-registry).');

describeHere('images from a registry', () => {
  let registry: Awaited<ReturnType<typeof startRegistry>>;
  const said: string[] = [];
  const made: string[] = [];
  const room = new GivenResources();

  beforeAll(async () => {
    registry = await startRegistry();
  });
  afterEach(() => {
    said.length = 0;
    room.free.engine = Infinity;
    const marks = cli('images', '--format', '{{.Repository}}:{{.Tag}}', '--filter', 'reference=bestk-pulled/*');
    const pulled = marks.split('\n').filter((tag) => tag !== '' && made.some((image) => sameImage(tag, image)));
    for (const tag of [...pulled, ...made.splice(0)]) if (isThere(tag)) cli('rmi', '-f', tag);
  });
  afterAll(() => registry[Symbol.asyncDispose]());

  function sameImage(tag: string, image: string): boolean {
    return isThere(image) && cli('images', '-q', tag) === cli('images', '-q', image);
  }

  /** An image of a few megabytes in the registry, and not on the engine. */
  function pushed(name: string, mib = 4): string {
    const image = `${registry.host}/${name}:1`;
    const folder = mkdtempSync(join(tmpdir(), 'bestk-image-'));
    writeFileSync(join(folder, 'data'), randomBytes(mib * MIB));
    execFileSync('sh', ['-c', `tar -C ${folder} -c data | docker import - ${image}`], { stdio: 'ignore' });
    rmSync(folder, { recursive: true });
    cli('push', '-q', image);
    cli('rmi', image);
    made.push(image);
    return image;
  }

  function imagesWith(options: Partial<ImageOptions> = {}): DockerImages {
    const say = (text: string): void => void said.push(text);
    return new DockerImages(docker, {
      pull: 'missing',
      cacheBytes: undefined,
      room,
      configFolder: '/none',
      say,
      ...options,
    });
  }

  /** As if the clock of marks, which counts seconds, went on. */
  const later = (): Promise<void> => sleep(1_100);

  it('are pulled once however many ask, keep their id when pulled again, and are told in the log', async () => {
    const image = pushed('once');
    const images = imagesWith({ cacheBytes: 1 });
    await Promise.all([1, 2, 3].map(() => images.keeping(image, () => images.pull(image, go))));
    expect(said.filter((text) => text.startsWith('Pulled'))).toHaveLength(1);
    const { id } = await images.look(image);
    await images.makeRoom();
    expect(isThere(image)).toBe(false);
    expect(said.at(-1)).toMatch(/^Removed image .*\/once:1 \(4 MB\)/);
    await images.keeping(image, async () => {
      await images.pull(image, go);
      expect((await images.look(image)).id).toBe(id);
    });
  });

  it.each([
    ['alone', (image: string) => image.replace(/:1$/, '')],
    ['and tag', (image: string) => image],
  ])('go, too, if they were pulled by digest %s', async (_what, named) => {
    const image = pushed('digest');
    const manifest = await fetch(`http://${image.replace('/', '/v2/').replace(/:1$/, '/manifests/1')}`, {
      headers: { accept: 'application/vnd.docker.distribution.manifest.v2+json' },
    });
    const pinned = `${named(image)}@${manifest.headers.get('docker-content-digest') ?? ''}`;
    const images = imagesWith({ cacheBytes: 1 });
    const { id } = await images.keeping(pinned, async () => {
      await images.pull(pinned, go);
      return images.look(pinned);
    });
    made.push(id);
    await images.makeRoom();
    expect(said.at(-1)).toMatch(/^Removed image .*\/digest@sha256:/);
    expect(cli('images', '-aq', '--no-trunc').split('\n')).not.toContain(id);
  });

  it('go, used longest ago first, when they pass the bound', async () => {
    const [a, b, c] = [pushed('a'), pushed('b'), pushed('c')];
    await imagesWith().pull(a, go);
    await later();
    await imagesWith().pull(b, go);
    await later();
    // A new look at the first makes the second the one used longest ago.
    await imagesWith().look(a);
    await later();
    await imagesWith({ cacheBytes: 9 * MIB }).pull(c, go);
    expect([a, b, c].map(isThere)).toEqual([true, false, true]);
  });

  it('stay while a container has them, a run needs them, or when they were there before or are named by somebody', async () => {
    const [used, needed, before, named] = ['used', 'needed', 'before', 'named'].map((name) => pushed(name));
    cli('pull', '-q', before ?? '');
    const images = imagesWith({ cacheBytes: 1 });
    const all = imagesWith();
    for (const image of [used, needed, named]) await all.pull(image ?? '', go);
    const container = cli('create', used ?? '', 'none');
    cli('tag', named ?? '', 'bestk-test/mine:1');
    await images.keeping(needed ?? '', () => images.makeRoom());
    expect([used, needed, before, named].map((image) => isThere(image ?? ''))).toEqual([true, true, true, true]);
    cli('rm', container);
    await images.makeRoom();
    expect([used, needed, before, named].map((image) => isThere(image ?? ''))).toEqual([false, false, true, true]);
    cli('rmi', 'bestk-test/mine:1');
  });

  it('go, too, while the disk is low, and only as many as it takes', async () => {
    const [a, b] = [pushed('x'), pushed('y')];
    await imagesWith().pull(a, go);
    await later();
    await imagesWith().pull(b, go);
    room.free.engine = 1;
    const say = (): void => {
      room.free.engine = Infinity;
    };
    await imagesWith({ say }).makeRoom();
    expect([a, b].map(isThere)).toEqual([false, true]);
  });

  it('that the registry does not have are refused at once', async () => {
    const missing = `${registry.host}/nobody/has:this`;
    await expect(imagesWith().pull(missing, go)).rejects.toMatchObject({ code: 'image-pull-failed', retryable: false });
    expect(said.filter((text) => text.includes('Retrying'))).toEqual([]);
  });

  it('are never pulled unless that is asked for', async () => {
    const image = pushed('quiet');
    await expect(dockerSandbox().describeImage(image, go)).rejects.toMatchObject({ code: 'image-missing' });
    const sandbox = dockerSandbox({ images: imagesWith() });
    expect((await sandbox.describeImage(image, go)).id).toMatch(/^sha256:/);
    await sandbox.closeAll();
  });
});
