import type { Browser, Page } from 'playwright-core';
import { BadInputError } from '../../../src/core/errors/errors.js';
import { viewedRun } from '../../fixtures/viewed-runs.js';
import { openBrowser, openPage, type WatchedPage } from './browser.js';
import { openViewerWorld, type ViewerWorld } from './viewer-world.js';

const MARKUP = '<script>window.ran=1</script><img src=x onerror="window.ran=1"><svg/onload=window.ran=1>';
const HIDDEN = '\u001b[31mred\u001b[0m\u001b]0;title\u0007\u202Egnp.exe\u202C\u200B\u0001\u0085';
/** What no text on a page may hold: controls, and what reorders or hides. */
const UNSEEN = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/;

/** The place it stands for, and everything that could go wrong there. */
const hostile = (place: string): string => `${place.slice(0, 60)} ${MARKUP} ${HIDDEN}`;

let browser: Browser;
let world: ViewerWorld;
let watched: WatchedPage;
let id: string;

beforeAll(async () => {
  browser = await openBrowser();
  world = await openViewerWorld();
  id = await world.ended(viewedRun({ candidates: 3, steps: 3, tests: 3, text: hostile }));
  watched = await openPage(browser, world.url);
  await watched.page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`violation: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
});
afterAll(async () => {
  await browser.close();
  await world.close();
});

async function expectText(page: Page, ...places: readonly string[]): Promise<void> {
  const text = await page.locator('body').innerText();
  for (const place of places) expect(text).toContain(`${place} ${MARKUP}`);
  expect(UNSEEN.exec(text)?.[0]).toBeUndefined();
  expect(text).toContain('⟨U+202E⟩');
  const spoken = await page.evaluate(() =>
    [...document.querySelectorAll('[title], [aria-label]')].map(
      (each) => `${each.getAttribute('title') ?? ''}${each.getAttribute('aria-label') ?? ''}`,
    ),
  );
  expect(spoken.filter((label) => UNSEEN.test(label))).toEqual([]);
  expect(await page.evaluate(() => (globalThis as { ran?: number }).ran)).toBeUndefined();
  expect(await page.locator('#app script, #app img, #app svg:not([role=img], .plot svg)').count()).toBe(0);
  expect(watched.wrongs).toEqual([]);
}

describe('a run whose every text is hostile', () => {
  it('is listed as text', async () => {
    await watched.page.goto(world.url);
    await watched.page.getByRole('link', { name: /demo__issue-1/ }).waitFor();
    await expectText(watched.page, 'demo__issue-1', 'rollout-1', 'max execution_free');
  });

  it('is answered as text on the page of calls', async () => {
    const { page } = watched;
    await page.goto(`${world.url}/docs#getEvidence`);
    const call = page.locator('#getEvidence');
    await call.getByRole('textbox', { name: 'id' }).fill(id);
    await call.getByRole('button', { name: 'Execute' }).click();
    await call.locator('output', { hasText: /^200 / }).waitFor();
    const text = await call.locator('.try pre').innerText();
    expect(text).toContain('<script>window.ran=1</script>');
    expect(text).toContain('⟨U+202E⟩');
    expect(UNSEEN.exec(text)).toBeNull();
    expect(await page.evaluate(() => (globalThis as { ran?: number }).ran)).toBeUndefined();
    expect(watched.wrongs).toEqual([]);
  });

  it('is shown as text: ranking, flags, patch, file names, issue', async () => {
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.locator('.diff').first().waitFor();
    await page.locator('summary', { hasText: 'Environment' }).click();
    await page.locator('summary', { hasText: 'Why 1 test was rejected' }).click();
    await expectText(page, 'demo__issue-1', 'rollout-1', 'rollout-3', 'leak:git-history:step-4', 'src/calculator.py');
    await expectText(page, 'return a + b', 'It breaks.', 'says "solved" on base', 't2', 'max execution_free');
  });

  it('has its trajectory, its verdicts and its logs shown as text', async () => {
    const { page } = watched;
    await page.getByRole('link', { name: /^rollout-2/ }).click();
    await page.getByRole('tab', { name: 'Trajectory' }).click();
    await page.locator('.step').first().waitFor();
    await expectText(page, 'Thought 1 of try 2.', 'agent-model', 'agent');
    await page.getByRole('tab', { name: 'Verdicts and judge' }).click();
    await page.locator('summary', { hasText: 'Prompt' }).click();
    await page.locator('section[aria-label=user] pre').waitFor();
    await expectText(page, 'judge', 'the issue names no regression_command', 'It breaks.', 'beaten', 'loop');
    await page.getByRole('gridcell', { name: /^t2 .* on rollout-1/ }).click();
    await page.getByText('Traceback (most recent call last)').first().waitFor();
    await page.locator('summary', { hasText: 'The test:' }).click();
    await page.getByText('assert False').first().waitFor();
    await expectText(page, 'Traceback (most recent call last)', 'test.py', 'writer', 'assert False');
  });

  it('has what a judge with tools did shown as text', async () => {
    const { page } = watched;
    await page.getByRole('link', { name: /^rollout-3/ }).click();
    await page.getByRole('tab', { name: 'Verdicts and judge' }).click();
    const looks = page.getByRole('list', { name: 'Looks' });
    await looks.locator('summary', { hasText: 'Step 2, exit code 0' }).click();
    await expectText(page, 'add was run', 'pytest -q test_add.py', 'unreadable-answer');
  });

  it('is compared as text', async () => {
    const { page } = watched;
    await page.goto(`${world.url}/#/compare/${id}/${id}/${id}`);
    await page.getByRole('heading', { name: 'Ranking and scores' }).waitFor();
    await expectText(page, 'rollout-1', 't2', 'demo__issue-1');
  });

  it('fails with a reason that is shown as text, and tells its events as text', async () => {
    const { page } = watched;
    const { request } = viewedRun({ candidates: 1, steps: 1, tests: 1, text: (place) => hostile(`broken ${place}`) });
    let fail = (): void => undefined;
    const failing = new Promise<void>((resolve) => (fail = resolve));
    const broken = await world.start(request, async (_run, emit) => {
      await emit('step', { candidate_id: hostile('live-1'), step: 1, tool: hostile('tool'), gist: hostile('gist') });
      await emit(hostile('odd-type').replaceAll('\n', ' '), { text: hostile('told') });
      await failing;
      throw new BadInputError(hostile('it cannot be read'), {}, hostile('mend it'));
    });
    await page.goto(`${world.url}/#/runs/${broken}`);
    await page.locator('summary', { hasText: 'Latest events' }).click();
    await page.locator('.tries > li').waitFor();
    await expectText(page, 'live-1', 'tool', 'gist');
    fail();
    await page.getByRole('alert').first().waitFor();
    await expectText(page, 'it cannot be read', 'mend it');
  });

  it('stands in a benchmark, with labels and failed tests, as text', async () => {
    const { page } = watched;
    const { benchmarks, runs } = world.store;
    const { id: benchmark } = await benchmarks.create('b', { title: hostile('title'), hash: '', submitter: '' });
    const make = async (name: string) => {
      const text = (place: string): string => hostile(place.replace('demo__issue-1', name));
      const viewed = viewedRun({ candidates: 2, steps: 1, tests: 1, text });
      const of = { alone: true, benchmark: { id: benchmark, arm: '__proto__' } };
      return { ...viewed, run: (await runs.create(name, viewed.request, of)).run.id };
    };
    const [graded, failed] = [await make('graded__r-1'), await make('failed__r-2')];
    const failure = { code: hostile('code'), message: hostile('no model'), next: '' };
    await runs.update(failed.run, { status: 'failed', failure });
    await runs.update(graded.run, { status: 'done', result: graded.result });
    const grade = { resolved: false, reason: hostile('one fails'), tests: { [hostile('the test')]: 'failed' } };
    const document = { grades: [{ ...grade, candidate_id: hostile('rollout-1') }], ungraded: [] };
    const counts = { right: false, graded: 2, right_candidates: 1, ungraded: 0, best: [0.5, 1] };
    await benchmarks.grade(graded.run, { ...counts, document });
    const instances = [graded, failed].map(({ request }) => request.issue.instance_id);
    await benchmarks.begin(
      benchmark,
      { arms: ['__proto__', 'x'.repeat(64)].map((name) => ({ name })), instances, skipped: [] },
      {},
    );
    await benchmarks.change(benchmark, { status: 'failed', note: hostile('a note') }, ['running']);
    await page.goto(`${world.url}/#/benchmarks/${benchmark}`);
    await page.locator('.plot svg').first().waitFor();
    await page.locator('.plot summary').first().click();
    await expectText(page, 'title', 'a note', 'graded__r-1', 'code', 'no model', 'rollout-1', 'max execution_free');
    await page.goto(`${world.url}/#/compare/arms/${benchmark}`);
    await page.getByRole('region', { name: 'Arms side by side' }).waitFor();
    await expectText(page, 'title');
    await page.goto(`${world.url}/#/runs/${graded.run}`);
    await page.getByText('1 required test not passed').click();
    await expectText(page, 'one fails', 'the test');
  });

  it('has nothing of a drawing but shapes and text', async () => {
    const { page } = watched;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" onload="window.ran=1">
      <script>window.ran=1</script><style>*{fill:red}</style><image href="/v1/stolen"/><use xlink:href="/v1/stolen"/>
      <a href="javascript:window.ran=1"><text>link</text></a><foreignObject><p xmlns="http://www.w3.org/1999/xhtml">p</p></foreignObject>
      <g onclick="window.ran=1"><path d="M0,0h9" fill="url(/v1/stolen)" style="fill:red"/><text>drawn ${MARKUP.replaceAll('<', '&lt;')}</text></g></svg>`;
    const plot = {
      name: 'x',
      title: hostile('plot'),
      note: hostile('how to read'),
      svg,
      columns: ['a'],
      rows: [[hostile('cell')]],
    };
    const none = { ...plot, name: 'y', svg: '<p>no drawing</p>' };
    await page.route('**/plots', (route) => route.fulfill({ json: { plots: [plot, none] } }));
    const { benchmarks } = await world.store.benchmarks.list(1, null);
    await page.goto(`${world.url}/#/runs`);
    await page.goto(`${world.url}/#/benchmarks/${benchmarks[0]?.id ?? ''}`);
    await page.locator('.plot svg text').waitFor();
    await page.locator('.plot summary').first().click();
    // The policy holds where a drawing is read, too, and tells what it refused.
    expect(watched.wrongs.splice(0).filter((wrong) => !/inline/.test(wrong))).toEqual([]);
    await expectText(page, 'plot', 'how to read', 'cell', 'drawn');
    const drawn = page.locator('.plot svg, .plot svg *');
    const left = await drawn.evaluateAll((all) => all.map((each) => [each.localName, ...each.getAttributeNames()]));
    expect(left).toEqual([['svg', 'viewBox'], ['g'], ['path', 'd'], ['text']]);
    await page.unroute('**/plots');
  });

  it('cannot lead out of the page by its id in a link', async () => {
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${encodeURIComponent('javascript:window.ran=1//')}`);
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain('There is no run');
    await expect(page.evaluate(() => (globalThis as { ran?: number }).ran)).resolves.toBeUndefined();
  });
});
