import { readFileSync } from 'node:fs';
import type { Browser, FrameLocator, Page } from 'playwright-core';
import { benchmarkHtml } from '../../../src/reports/benchmark/write-benchmark.js';
import { MemoryReportStore } from '../../fakes/memory-report-store.js';
import { viewedRun } from '../../fixtures/viewed-runs.js';
import { BenchmarkWorld } from '../../unit/reports/benchmark-world.js';
import { openBrowser, openPage, type WatchedPage } from './browser.js';
import { openViewerWorld, type ViewerWorld } from './viewer-world.js';

/** What a report would hold if something slipped through: it tries for the key, the origin, the page around, and the network. */
const HOSTILE = `<!doctype html><title>x</title><h1>Hostile</h1>
  <script>parent.document.title = sessionStorage['bestk-api-key']; top.location = '/stolen'</script>
  <img src="x" onerror="parent.ran = 1"><img src="/v1/stolen"><link rel="stylesheet" href="/v1/stolen">
  <meta http-equiv="refresh" content="0;url=/stolen"><iframe src="/stolen"></iframe>
  <form action="/stolen" target="_top"><button>Send</button></form><a href="/stolen" target="_top">Go</a>`;

const store = new MemoryReportStore();
let browser: Browser;
const worlds: ViewerWorld[] = [];
beforeAll(async () => {
  browser = await openBrowser();
  const world = new BenchmarkWorld();
  const tried = ['a', 'b'].map((id, index) => ({ id, p: index, passed: 3 + index, right: index === 1 }));
  for (const issue of ['o__r-1', 'o__r-2']) await world.run(issue, tried);
  const report = await world.report();
  const place = { back: { href: '/#/reports', text: 'Reports' }, run: (id: string) => `/#/runs/${id}` };
  const page = await benchmarkHtml({ ...report, title: 'Nightly' }, place);
  await store.put({ id: 'report_1', title: 'Nightly', document: '{}', page });
  await store.put({ id: 'hostile', title: 'Hostile', document: '{}', page: HOSTILE });
});
afterAll(() => browser.close());
afterEach(() => Promise.all(worlds.splice(0).map((world) => world.close())));

async function listed(
  keys: readonly string[],
): Promise<WatchedPage & { readonly url: string; readonly world: ViewerWorld }> {
  const world = await openViewerWorld(keys, store);
  worlds.push(world);
  const watched = await openPage(browser, world.url);
  await watched.page.goto(`${world.url}/#/reports`);
  if (keys[0] !== undefined) await giveKey(watched.page, keys[0]);
  await watched.page.getByRole('link', { name: 'Nightly' }).waitFor();
  return { ...watched, url: world.url, world };
}

async function giveKey(page: Page, key: string): Promise<void> {
  await page.getByLabel('Key').fill(key);
  await page.getByRole('button', { name: 'Use this key' }).click();
}

const frameOf = (page: Page): FrameLocator => page.frameLocator('iframe[title="Report"]');
const look = (): { weight: string; width: number } => {
  const { fontWeight, maxWidth } = getComputedStyle(document.querySelector('main') as unknown as Element);
  return { weight: fontWeight, width: Number.parseInt(maxWidth, 10) };
};

describe('a report', () => {
  it('opens in its place where no key is set', async () => {
    const { page, wrongs, context } = await listed([]);
    await page.getByRole('link', { name: 'Nightly' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nightly' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/v1/reports/report_1');
    expect(await page.getByRole('link', { name: 'run-o__r-2' }).getAttribute('href')).toBe('/#/runs/run-o__r-2');
    await page.getByRole('link', { name: 'Reports' }).click();
    await page.getByRole('link', { name: 'Nightly' }).waitFor();
    expect(wrongs).toEqual([]);
    await context.close();
  });

  it('opens with the key, looks as it does without, is saved at a click, and leads back', async () => {
    const open = await listed([]);
    await open.page.getByRole('link', { name: 'Nightly' }).click();
    await open.page.locator('main').waitFor();
    const without = await open.page.evaluate(look);
    await open.context.close();
    const { page, wrongs, context } = await listed(['s3cret']);
    await page.getByRole('link', { name: 'Nightly' }).click();
    await frameOf(page).getByRole('heading', { level: 1, name: 'Nightly' }).waitFor();
    expect(await frameOf(page).locator('main').evaluate(look)).toEqual(without);
    expect(await frameOf(page).locator('svg[role=img]').count()).toBeGreaterThan(0);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect(readFileSync(await (await saved).path(), 'utf8')).toContain('<h1>Nightly</h1>');
    await page.getByRole('link', { name: 'Reports' }).click();
    await page.getByRole('link', { name: 'Nightly' }).click();
    await frameOf(page).getByRole('link', { name: 'run-o__r-1' }).click();
    await page.waitForURL(/#\/runs\/run-o__r-1$/);
    expect(wrongs).toEqual([]);
    await context.close();
  });

  it('of a benchmark opens with the key, is sorted without a script, and leads to its runs', async () => {
    const { page, wrongs, context, world } = await listed(['s3cret']);
    const ids = ['o__r-1', 'o__r-2', 'o__r-3'];
    const run = viewedRun({ candidates: 2, steps: 1, tests: 1 });
    const rows = ids.map((instance_id) => ({ instance_id, problem_statement: 'x', environment: { image: 'x:1' } }));
    for (const [index, instance] of ids.entries()) {
      const confidence = [0.2, 0.9, 0.5][index] ?? null;
      const selection = { ...run.result.selection, instance_id: instance, confidence };
      world.plays(instance, () => Promise.resolve({ ...run.result, selection }));
    }
    const id = await world.benchmark([{ title: 'Sorted', arms: [{ name: 'mine', k: 2 }] }, ...rows]);
    await page.goto(`${world.url}/#/benchmarks/${id}`);
    await page.locator('header .status-done').waitFor();
    await page.getByRole('link', { name: 'Report', exact: true }).click();
    const table = frameOf(page).getByRole('region', { name: 'Selections by arm' });
    const order = async (): Promise<string[]> => {
      const found = await table
        .locator('tbody tr')
        .evaluateAll((all) => all.map((row) => ({ top: row.getBoundingClientRect().top, text: row.textContent })));
      return found.sort((a, b) => a.top - b.top).map(({ text }) => /o__r-\d/.exec(text)?.[0] ?? '');
    };
    await table
      .locator('tbody tr')
      .nth(ids.length - 1)
      .waitFor();
    expect(await order()).toEqual(ids);
    await table.getByRole('radio', { name: 'confidence' }).check();
    expect(await order()).toEqual(['o__r-2', 'o__r-3', 'o__r-1']);
    await table.getByRole('checkbox').check();
    expect(await order()).toEqual(['o__r-1', 'o__r-3', 'o__r-2']);
    await table.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: 'o__r-1' }).waitFor();
    expect(page.url()).toMatch(/#\/runs\/run_.*\?benchmark=/);
    await page.getByRole('link', { name: '← Benchmark' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sorted' }).waitFor();
    // To look into the frame is to run a script there, which it refuses.
    expect(wrongs.filter((wrong) => !/sandbox/.test(wrong))).toEqual([]);
    await context.close();
  });

  it('asks for the key in a tab that has none', async () => {
    const { url, context } = await listed(['s3cret']);
    const page = await context.newPage();
    await page.goto(`${url}/report#report_1`);
    await giveKey(page, 's3cret');
    await frameOf(page).getByRole('heading', { level: 1, name: 'Nightly' }).waitFor();
    await page.goto(`${url}/report#nobody`);
    await page.reload();
    await page.getByText('There is no report with this id.').waitFor();
    await context.close();
  });

  it('that is hostile reaches neither key nor page nor network', async () => {
    const { page, wrongs, context, url } = await listed(['s3cret']);
    const asked: string[] = [];
    // What the policy refuses is told as a request, too, but never answered.
    page.on('response', (response) => asked.push(response.url()));
    await page.getByRole('link', { name: 'Hostile' }).click();
    await frameOf(page).getByRole('heading', { level: 1, name: 'Hostile' }).waitFor();
    await frameOf(page).getByRole('button', { name: 'Send' }).click();
    await page.waitForTimeout(500);
    expect(page.url()).toBe(`${url}/report#hostile`);
    expect(await page.title()).toBe('Report · bestk');
    expect(await page.evaluate(() => (globalThis as { ran?: number }).ran)).toBeUndefined();
    expect(asked.filter((each) => each.includes('stolen'))).toEqual([]);
    // A link leads where it says, at a click, as it does on any page, and takes nothing along.
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('allow-top-navigation-by-user-activation');
    const went = page.waitForRequest(`${url}/stolen`);
    await frameOf(page).getByRole('link', { name: 'Go' }).click();
    expect(Object.values(await (await went).allHeaders()).join()).not.toMatch(/s3cret|hostile/);
    expect(wrongs.filter((wrong) => !/sandbox|Content Security Policy/i.test(wrong))).toEqual([]);
    await context.close();
  });
});
