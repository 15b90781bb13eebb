import { mkdtempSync } from 'node:fs';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { writeBenchmark } from '../../../src/reports/benchmark/write-benchmark.js';
import { BenchmarkWorld, type Tried } from '../../unit/reports/benchmark-world.js';
import { openBrowser, openPage, type Look, type WatchedPage } from './browser.js';

const EVIL = '<script>window.ran=1</script><img src=x onerror="window.ran=1"><svg/onload=window.ran=1>\u001b[31m\u202e';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
let server: Server;
let url: string;

/** Reports as files are opened by hand; a server stands in for the folder, so that requests elsewhere show. */
beforeAll(async () => {
  const pages = new Map([
    ['/plain', await pageOf('org__repo', (name) => name)],
    ['/hostile', await pageOf(`${EVIL}__r`, () => EVIL)],
  ]);
  server = createServer((request, response) => {
    const page = pages.get(request.url ?? '');
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  server.close();
});

async function pageOf(repository: string, text: (plain: string) => string): Promise<string> {
  const world = new BenchmarkWorld();
  const tried: Tried[] = [0.1, 0.9, 0.2, 0.3].map((p, index) => ({
    id: `c${index}`,
    p,
    passed: 5 - (index % 2),
    right: index === 1,
  }));
  for (let issue = 0; issue < 8; issue += 1) {
    await world.run(`${repository}${issue % 3}-${issue}`, tried, {
      admissions: [{ test_id: text('t1'), admitted: false, reason: text('breaks on base') }],
      provenance: {
        bestk_version: text('1'),
        image_id: text('sha256:1'),
        verifier_model: text('judge'),
        test_model: text('writer'),
        agent: null,
        agents: [],
        prompt_hashes: { [text('judge/yes-no')]: text('abc') },
        preset: 'deepswe',
        rule_hashes: {},
        verifiers: [text('ef'), text('eb')],
        sandbox_limits: {},
      },
    });
  }
  const out = mkdtempSync(join(tmpdir(), 'bestk-report-page-'));
  await writeBenchmark(out, await world.report());
  return readFileSync(join(out, 'report.html'), 'utf8');
}

async function opened(path: string, look: Look = {}): Promise<WatchedPage> {
  const watched = await openPage(browser, url, look);
  await watched.page.goto(`${url}${path}`);
  return watched;
}

describe('a report in a browser', () => {
  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('has no flaw of access in %s at %d px, and does not scroll sideways', async (scheme, width) => {
    const { page, wrongs, context } = await opened('/plain', { scheme, width });
    for (const summary of await page.locator('summary').all()) await summary.click();
    // By the debugger, which a policy does not bind: the page itself may run nothing.
    const session = await context.newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: AXE });
    const { result } = await session.send('Runtime.evaluate', {
      expression: 'axe.run().then((found) => JSON.stringify(found.violations))',
      awaitPromise: true,
      returnByValue: true,
    });
    expect(JSON.parse(result.value as string)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(wrongs).toEqual([]);
    await context.close();
  });

  it('says in its first lines how good the selector of the runs is and which wins, and shows every plot with its numbers', async () => {
    const { page, context } = await opened('/plain');
    const [own, ...others] = await page.locator('main > p').allInnerTexts();
    expect(own).toMatch(/^deepswe selects a right patch for 0\.0% of 8 issues at K = 4, less than Pass@1/);
    expect(others.join('\n')).toMatch(/^The best of all \d+ rules is \S+: 100\.0%/m);
    const figures = page.locator('figure');
    expect(await figures.count()).toBe(6);
    for (const figure of await figures.all()) {
      expect(await figure.locator('svg[role=img]').count()).toBe(1);
      await figure.locator('summary').click();
      expect(await figure.locator('tbody tr').count()).toBeGreaterThan(0);
    }
    await context.close();
  });

  it('can be read with the keyboard alone', async () => {
    const { page, context } = await opened('/plain');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Drawing: Pass@K and Best@K');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY');
    await page.keyboard.press('Enter');
    expect(await page.locator('figure details[open]').count()).toBe(1);
    await context.close();
  });

  it('shows hostile text as text and asks for nothing', async () => {
    const { page, wrongs, context } = await opened('/hostile');
    for (const summary of await page.locator('summary').all()) await summary.click();
    const text = await page.locator('body').innerText();
    expect(text).toContain('<script>window.ran=1</script><img src=x onerror="window.ran=1">');
    expect(text).not.toMatch(/[\u001b\u202e]/);
    expect(await page.evaluate(() => (globalThis as { ran?: number }).ran)).toBeUndefined();
    expect(await page.locator('script, img').count()).toBe(0);
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
