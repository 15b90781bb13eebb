import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { Settings } from '../../../src/app/settings.js';

const root = join(import.meta.dirname, '../../..');
const text = readFileSync(join(root, 'compose.yaml'), 'utf8');
const envFile = readFileSync(join(root, 'deploy/compose.env'), 'utf8');

const Ours = z.object({
  command: z.array(z.string()),
  hostname: z.string(),
  environment: z.record(z.string(), z.string()),
  stop_grace_period: z.string().regex(/^\d+s$/),
  healthcheck: z.object({ test: z.array(z.string()) }),
  depends_on: z.record(z.string(), z.object({ condition: z.literal('service_healthy') })),
});
const Compose = z.object({
  services: z.object({
    bestk: Ours.extend({ ports: z.array(z.string()) }),
    'worker-1': Ours,
    'worker-2': Ours,
    postgres: z.object({ image: z.string(), volumes: z.array(z.string()), healthcheck: z.object({}) }),
  }),
  volumes: z.object({ postgres: z.null(), work: z.null() }),
});
const { services } = Compose.parse(parse(text, { merge: true }));
const ours = [services.bestk, services['worker-1'], services['worker-2']];

/** Names set in the file, filled in or not. */
const offered = [...envFile.matchAll(/^([A-Z_]+)=/gm)].map(([, name = '']) => name);
const SECRETS = ['BESTK_API_KEYS', 'POSTGRES_PASSWORD', 'DOCKER_GID'];

describe('compose.yaml', () => {
  it('is a service and two workers on one database', () => {
    expect(ours.map(({ command }) => command[0])).toEqual(['serve', 'worker', 'worker']);
    expect(new Set(ours.map(({ environment }) => environment.DATABASE_URL)).size).toBe(1);
    expect(new Set(ours.map(({ hostname }) => hostname)).size).toBe(3);
    for (const { depends_on } of ours) expect(Object.keys(depends_on)).toEqual(['postgres']);
  });

  it('needs what its settings file offers, and has no secret of its own', () => {
    const required = [...text.matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name = '']) => name);
    expect(new Set(required)).toEqual(new Set(SECRETS));
    expect(offered).toEqual(expect.arrayContaining(SECRETS));
    const ofOthers = ['POSTGRES_PASSWORD', 'DOCKER_GID'];
    expect(Object.keys(Settings.shape)).toEqual(
      expect.arrayContaining(offered.filter((name) => !ofOthers.includes(name))),
    );
    expect(envFile).not.toMatch(/^[A-Z_]+=./m);
  });

  it('gives each process the time that stopping takes at most', () => {
    const { BESTK_DRAIN_S, BESTK_SHUTDOWN_S } = Settings.parse({});
    for (const { stop_grace_period } of ours) {
      expect(Number.parseInt(stop_grace_period)).toBeGreaterThan(BESTK_DRAIN_S + BESTK_SHUTDOWN_S);
    }
  });

  it('listens on loopback unless told otherwise', () => {
    expect(services.bestk.ports).toEqual(['${BESTK_LISTEN:-127.0.0.1:8080}:8080']);
  });
});
