import type { Browser } from 'playwright-core';
import { MemoryReportStore } from '../../fakes/memory-report-store.js';
import { BenchmarkWorld, type Tried } from '../../unit/reports/benchmark-world.js';
import { openBrowser, openPage, type WatchedPage } from './browser.js';
import { gradedBenchmark } from '../../fixtures/graded-benchmark.js';
import { openViewerWorld, type ViewerWorld } from './viewer-world.js';

const EVIL = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>\u202e';

const reports = new MemoryReportStore();
let browser: Browser;
let world: ViewerWorld;
let watched: WatchedPage;

beforeAll(async () => {
  browser = await openBrowser();
  world = await openViewerWorld([], reports);
  await report('one', 'Nightly', ['o__r-1', 'o__r-2']);
  await report('two', `Hostile ${EVIL}`, ['o__r-2', `${EVIL}__r-3`]);
});
afterAll(async () => {
  await browser.close();
  await world.close();
});
beforeEach(async () => {
  watched = await openPage(browser, world.url);
});
afterEach(async () => {
  expect(await watched.page.evaluate(() => (globalThis as { ran?: number }).ran)).toBeUndefined();
  expect(watched.wrongs).toEqual([]);
  await watched.context.close();
});

async function report(id: string, title: string, issues: readonly string[]): Promise<void> {
  const made = new BenchmarkWorld();
  const tried: Tried[] = ['a', 'b'].map((name, index) => ({
    id: name,
    p: index,
    passed: 3 + index,
    right: index === 1,
  }));
  for (const issue of issues) await made.run(issue, tried);
  const document = JSON.stringify({ ...(await made.report()), title });
  await reports.put({ id, title, document, page: '<h1>not asked for</h1>' });
}

describe('arms of a benchmark', () => {
  it('stand beside each other with what they came to, and the issues on which they disagree lead to their runs', async () => {
    const id = await gradedBenchmark(world.store, {
      title: `Arms ${EVIL}`,
      arms: {
        mine: { 'o__r-1': true, 'o__r-2': true, 'o__r-3': false },
        other: { 'o__r-1': false, 'o__r-2': true, 'o__r-3': true },
        ['__proto__']: { 'o__r-1': false, 'o__r-2': false, 'o__r-3': null },
      },
    });
    const { page } = watched;
    await page.goto(`${world.url}/#/benchmarks/${id}`);
    await page.getByRole('link', { name: 'Compare arms' }).click();
    const table = page.getByRole('region', { name: 'Arms side by side' });
    const row = (name: string) => table.locator('tbody tr', { hasText: name }).locator('td');
    await row('Best@K').nth(2).waitFor();
    expect(await row('Best@K').allInnerTexts()).toEqual([
      expect.stringMatching(/^66\.7% \(20\.8 to 93\.9\)$/),
      expect.stringMatching(/^66\.7%/),
      expect.stringMatching(/^0\.0% \(0\.0 to /),
    ]);
    expect(await row('Failed').allInnerTexts()).toEqual(['0', '0', '1']);
    expect(await row('Cost per issue').first().innerText()).toBe('$0.5000 ($1.50 in total)');
    const wins = page.getByRole('region', { name: 'Table of arms against each other' }).locator('tbody tr').first();
    expect(await wins.locator('td').allInnerTexts()).toEqual(['', '1', '2']);

    await page.getByRole('status').filter({ hasText: '3 issues right in one of these arms' }).waitFor();
    await page.getByRole('checkbox', { name: 'other' }).uncheck();
    await page.getByRole('status').filter({ hasText: '2 issues right in one of these arms' }).waitFor();
    expect(await page.getByRole('checkbox', { name: 'mine' }).isDisabled()).toBe(true);
    const issues = page.getByRole('region', { name: 'Table of issues' });
    expect(await issues.locator('tbody th').allInnerTexts()).toEqual(['o__r-1', 'o__r-2']);
    await page.reload();
    await issues.locator('thead th').nth(2).waitFor();
    expect(await issues.locator('thead th').count()).toBe(3);
    await issues.getByRole('link').first().click();
    await page.getByRole('link', { name: '← Benchmark' }).click();
    await page.getByRole('heading', { level: 1, name: /^Arms <img/ }).waitFor();
  });

  it('are of no use where there is one, and say so where the benchmark is not there', async () => {
    const id = await gradedBenchmark(world.store, { title: 'One', arms: { mine: { 'o__r-1': true } } });
    const { page } = watched;
    await page.goto(`${world.url}/#/compare/arms/${id}`);
    await page.getByText('there is nothing to compare').waitFor();
    await page.goto(`${world.url}/#/compare/arms/nothing`);
    await page.getByText('There is no').first().waitFor();
  });
});

describe('reports', () => {
  it('stand beside each other by rule, and say that they are of other instances', async () => {
    const { page } = watched;
    await page.goto(`${world.url}/#/reports`);
    for (const name of [/^Compare Nightly/, /^Compare Hostile/]) await page.getByRole('checkbox', { name }).check();
    await page.getByRole('link', { name: 'Compare the 2 selected reports' }).click();
    await page.getByText('Compared with the 2 of A: B: 1 in both, 1 only in B, 1 only in A.').waitFor();
    const rules = page.getByRole('region', { name: 'Rules of each report' });
    const values = (rule: string) => rules.locator('tbody tr').filter({ hasText: rule }).first().locator('td');
    await values('ef-only').nth(1).waitFor();
    expect(await values('ef-only').nth(1).innerText()).toMatch(/^100\.0% \(34\.2 to 100\.0\) \[±0\.0\]$/);
    expect(await values('Pass@1').first().innerText()).toMatch(/^50\.0%/);
    expect(await rules.locator('thead th').nth(2).innerText()).toContain(
      'B: Hostile <img src=x onerror="window.ran=1">',
    );
    await page.getByRole('combobox', { name: 'K' }).selectOption('1');
    await page.getByRole('heading', { name: 'Best@1 of each rule' }).waitFor();
    await page.getByRole('region', { name: 'Settings of each report' }).getByText('Issues with labels').waitFor();
    await page.goto(`${world.url}/#/compare/reports/one/nothing`);
    await page.getByText('There is no report with this id.').waitFor();
  });
});
