import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { StoredReport } from '../../../src/ports/benchmark-store.js';
import { MemoryReportStore } from '../../fakes/memory-report-store.js';
import { viewedRun } from '../../fixtures/viewed-runs.js';
import { BenchmarkWorld } from '../../unit/reports/benchmark-world.js';
import { openBrowser, openPage } from './browser.js';
import { openViewerWorld, type ViewerWorld } from './viewer-world.js';

let browser: Browser;
let world: ViewerWorld;
let paths: Readonly<Record<string, string>>;

beforeAll(async () => {
  browser = await openBrowser();
  const reports = new MemoryReportStore();
  world = await openViewerWorld([], reports);
  for (const name of ['r1', 'r2']) await reports.put(await madeReport(name));
  const id = await world.ended(viewedRun({ candidates: 12, steps: 12, tests: 12 }));
  const { request } = viewedRun({ candidates: 2, steps: 1, tests: 1, text: (place) => `live ${place}` });
  const live = await world.start(request, async (_run, emit, signal) => {
    await emit('step', { candidate_id: 'a', step: 1, tool: 'search' });
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });
  });
  const benchmark = await world.store.benchmarks.create('access', { title: 'Nightly', hash: '', submitter: '' });
  for (const [n, arm] of ['mine', 'other', 'mine'].entries()) {
    const of = { alone: true, benchmark: { id: benchmark.id, arm } };
    const { run } = await world.store.runs.create(`of ${n}`, RunRequest.parse({ ...request, seed: n }), of);
    const result = n === 2 ? null : viewedRun({ candidates: 2, steps: 1, tests: 1 }).result;
    const failure = { code: 'model-unavailable', message: 'The model does not answer.', next: 'Wait.' };
    const ended = result === null ? { status: 'failed' as const, failure } : { status: 'done' as const, result };
    await world.store.runs.update(run.id, ended);
    const known = {
      graded: 3,
      right_candidates: 1 + n,
      ungraded: 0,
      best: [0.3, 0.5, 1],
      document: { grades: [], ungraded: [] },
    };
    if (result !== null) await world.store.benchmarks.grade(run.id, { ...known, right: n === 0 });
  }
  const arms = ['mine', 'other'].map((name) => ({ name, k: 3 }));
  await world.store.benchmarks.begin(benchmark.id, { arms, instances: ['a', 'b'], skipped: [] }, {});
  paths = {
    benchmarks: '/#/benchmarks',
    'a benchmark': `/#/benchmarks/${benchmark.id}`,
    runs: '/#/runs',
    'a run, its patch': `/#/runs/${id}`,
    'a run, its trajectory': `/#/runs/${id}/candidates/rollout-2?tab=trajectory`,
    'a run, its verdicts': `/#/runs/${id}/candidates/rollout-2?tab=verdicts`,
    'a run that goes on': `/#/runs/${live}`,
    'a comparison': `/#/compare/${id}/${id}/${live}`,
    'arms compared': `/#/compare/arms/${benchmark.id}`,
    'reports compared': '/#/compare/reports/r1/r2',
    reports: '/#/reports',
    'the calls': '/docs',
    'a run that is not there': '/#/runs/nothing',
    'no page at all': '/#/elsewhere',
  };
});
afterAll(async () => {
  await browser.close();
  await world.close();
});

async function madeReport(id: string): Promise<Omit<StoredReport, 'created_at'>> {
  const made = new BenchmarkWorld();
  const tried = ['a', 'b'].map((name, index) => ({ id: name, p: index, passed: 3 + index, right: index === 1 }));
  await made.run(`o__r-${id}`, tried);
  return { id, title: id, document: JSON.stringify(await made.report()), page: '' };
}

/** Another hash of the same page would leave the old content for a moment. */
async function opened(page: Page, path: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${world.url}${path}`);
  await settled(page);
}

async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor();
  await page.waitForFunction(() => document.querySelector('.loading') === null);
}

/** Of all rules, or of those that are named. */
async function violations(page: Page, rules: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  const options = rules.length === 0 ? {} : { runOnly: [...rules] };
  const { violations: found } = await page.evaluate(
    (given) => (globalThis as unknown as { axe: { run: (how: object) => Promise<AxeResults> } }).axe.run(given),
    options,
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

/** axe looks at every element of thirteen pages; far longer than it takes where nothing else runs. */
const SLOW_MS = 240_000;

// Contrast is what colours can break.
describe.each([
  ['light', []],
  ['dark', ['color-contrast']],
] as const)('in %s colours', (scheme, rules) => {
  it(
    'no page has a violation of the accessibility rules',
    async () => {
      const { page, context, wrongs } = await openPage(browser, world.url, { scheme });
      for (const [name, path] of Object.entries(paths)) {
        await opened(page, path);
        await page.evaluate(() => {
          for (const each of document.querySelectorAll('details')) each.open = true;
        });
        expect([name, ...(await violations(page, rules)), ...wrongs]).toEqual([name]);
      }
      await context.close();
    },
    SLOW_MS,
  );
});

describe('390 pixels wide', () => {
  it(
    'no page scrolls sideways',
    async () => {
      const { page, context } = await openPage(browser, world.url, { width: 390 });
      for (const [name, path] of Object.entries(paths)) {
        await opened(page, path);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        expect([name, width]).toEqual([name, 390]);
      }
      await context.close();
    },
    SLOW_MS,
  );
});

describe('without a mouse', () => {
  it('one goes from the runs to a candidate, its tabs and a cell', async () => {
    const { page, context } = await openPage(browser, world.url);
    await page.goto(`${world.url}/#/runs?status=done`);
    await settled(page);
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    const tabTo = async (text: string): Promise<void> => {
      for (let stops = 0; stops < 60 && (await focused()) !== text; stops += 1) await page.keyboard.press('Tab');
      expect(await focused()).toBe(text);
    };
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await tabTo('demo__issue-1');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'demo__issue-1' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await tabTo('rollout-2');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 2, name: 'rollout-2' }).waitFor();
    await tabTo('Patch');
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toBe('Trajectory');
    expect(await page.getByRole('tab', { name: 'Trajectory' }).getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('ArrowLeft');
    await page.locator('[data-place="0 0"]').focus();
    for (const key of ['ArrowRight', 'ArrowDown', 'End', 'ArrowLeft', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 3, name: 't3 on rollout-11' }).waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === 't3 on rollout-11');
    const outline = await page.evaluate(() => {
      (document.querySelector('[data-place="1 11"]') as { focus: () => void } | null)?.focus();
      return getComputedStyle(document.querySelector('[data-place="1 11"]') as never).outlineStyle;
    });
    expect(outline).toBe('solid');
    await context.close();
  });
});

describe('the calls', () => {
  it('are found by a word, opened one at a time and by their address', async () => {
    const { page, context, wrongs } = await openPage(browser, world.url);
    await page.goto(`${world.url}/docs#submitRun`);
    const open = () => page.locator('details[open]').evaluateAll((all) => all.map(({ id }) => id));
    expect(await open()).toEqual(['submitRun']);
    expect(await page.locator('#submitRun pre').innerText()).toMatch(/^curl -sS -X POST "\$BESTK\/v1\/runs"/);
    await page.getByRole('searchbox').fill('judge-prompt');
    expect(await page.locator('#submitRun').isVisible()).toBe(false);
    await page.locator('#getJudgePrompt summary').click();
    expect(await open()).toEqual(['getJudgePrompt']);
    await page.getByRole('searchbox').fill('<script>no such word');
    expect(await page.getByRole('status').innerText()).toBe('0 found');
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
