import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { format, resolveConfig } from 'prettier';
import { clientSource } from '../../../scripts/make-client/client-source.mjs';
import { pythonModels } from '../../../scripts/make-client/python-models.mjs';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { runResult } from '../../fixtures/runs.js';
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

  it('is a page without scripts that fetches nothing', async () => {
    const page = await checkedFetch(`${server.url}/docs`);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; /);
    const html = await page.text();
    const style = /<style>([^]*)<\/style>/.exec(html)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(page.headers.get('content-security-policy')).toContain(`style-src 'sha256-${hash}'`);
    expect(html).not.toMatch(/<script|<link|<img|src=|url\(|@import/);
    for (const path of Object.keys(DOCUMENT.paths)) expect(html).toContain(path);
  });

  it('is what the clients were made from', async () => {
    const file = new URL('../../../examples/client/bestk-client.ts', import.meta.url).pathname;
    const written = await format(clientSource(DOCUMENT), { ...(await resolveConfig(file)), filepath: file });
    expect(readFileSync(file, 'utf8')).toBe(written);
    const models = new URL('../../../clients/python/bestk/models.py', import.meta.url).pathname;
    expect(readFileSync(models, 'utf8')).toBe(pythonModels(DOCUMENT));
  });
});
