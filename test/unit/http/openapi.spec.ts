import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { format, resolveConfig } from 'prettier';
import { clientSource } from '../../../scripts/make-client/client-source.mjs';
import { pythonModels } from '../../../scripts/make-client/python-models.mjs';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { runResult } from '../../fixtures/runs.js';
import { REQUESTS } from '../../../src/http/openapi/document.js';
import { checkedFetch, DOCUMENT } from './checked-fetch.js';
import { serveRuns, type TestServer } from './http-world.js';

let server: TestServer;
beforeAll(async () => {
  server = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(async () => runResult()));
});
afterAll(() => server.close());

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1, by the schema of OpenAPI', async () => {
    const served = (await (await checkedFetch(`${server.url}/openapi.json`)).json()) as Record<string, unknown>;
    expect(served).toEqual(JSON.parse(JSON.stringify(DOCUMENT)));
    const validator = new Validator();
    expect(await validator.validate(served)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('refers to nothing that it does not hold', () => {
    const text = JSON.stringify(DOCUMENT);
    const names = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? '');
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      expect(name).toMatch(/^#\/components\/schemas\/\w+$/);
      expect(DOCUMENT.components.schemas).toHaveProperty(name.split('/').at(-1) ?? '');
    }
  });

  it('describes every route of the service, and no other', () => {
    const described = Object.entries(DOCUMENT.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path.replaceAll(/\{\w+\}/g, ':')}`),
    );
    const routes = server.routes().map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, ':')}`);
    expect(routes.length).toBeGreaterThan(10);
    expect(described.toSorted()).toEqual(routes.toSorted());
  });

  it('is a page that runs its own script alone and fetches nothing', async () => {
    const page = await checkedFetch(`${server.url}/docs`);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; /);
    const html = await page.text();
    for (const tag of ['style', 'script']) {
      const text = new RegExp(`<${tag}>([^]*)</${tag}>`).exec(html)?.[1] ?? '';
      expect(policy).toContain(`${tag}-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    }
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html).not.toMatch(/<link|<img|src=|url\(|@import/);
    for (const path of Object.keys(DOCUMENT.paths)) expect(html).toContain(path);
  });

  it('says what every parameter and every field of a request is for', () => {
    const silent: string[] = [];
    const look = (schema: Record<string, unknown>, at: string): void => {
      for (const [name, field] of Object.entries(
        (schema.properties ?? {}) as Record<string, { description?: string }>,
      )) {
        if ((field.description ?? '') === '') silent.push(`${at}.${name}`);
        look(field, `${at}.${name}`);
      }
      const inside = [schema.anyOf, schema.oneOf, schema.allOf, schema.items, schema.additionalProperties].flat();
      for (const each of inside) if (typeof each === 'object' && each !== null) look({ ...each }, at);
    };
    for (const name of Object.keys(REQUESTS)) look(DOCUMENT.components.schemas[name] ?? {}, name);
    for (const operation of Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods))) {
      const { operationId, parameters } = operation as {
        operationId: string;
        parameters: { name: string; description?: string }[];
      };
      for (const { name, description = '' } of parameters)
        if (description === '') silent.push(`${operationId} ${name}`);
    }
    expect(silent).toEqual([]);
  });

  it('is what the clients were made from', async () => {
    const file = new URL('../../../examples/client/bestk-client.ts', import.meta.url).pathname;
    const written = await format(clientSource(DOCUMENT), { ...(await resolveConfig(file)), filepath: file });
    expect(readFileSync(file, 'utf8')).toBe(written);
    const models = new URL('../../../clients/python/bestk/models.py', import.meta.url).pathname;
    expect(readFileSync(models, 'utf8')).toBe(pythonModels(DOCUMENT));
  });

  it('is one type in the Python client where two members are the same', () => {
    const limits = { type: 'object', properties: { most: { type: 'integer' } } };
    const Run = {
      type: 'object',
      properties: { agent: limits, other: limits, agents: { type: 'array', items: limits } },
    };
    const models = pythonModels({ components: { schemas: { Run } } });
    expect(models.match(/class \w+|\w+: .*/g)).toEqual([
      ...['class RunAgent', 'most: int', 'class Run'],
      ...["agent: 'RunAgent'", "other: 'RunAgent'", "agents: List['RunAgent']"],
    ]);
  });
});
