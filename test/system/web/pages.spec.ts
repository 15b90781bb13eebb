import type { Browser } from 'playwright-core';
import { judgeMeasure } from '../../../src/core/run/verdict.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { until } from '../../fixtures/run-world.js';
import { runResult } from '../../fixtures/runs.js';
import { patchOf, viewedRun } from '../../fixtures/viewed-runs.js';
import { named, runPageTests } from './run-page-tests.js';
import { openBrowser, openPage, type WatchedPage } from './browser.js';
import { openViewerWorld, type ViewerWorld } from './viewer-world.js';

let browser: Browser;
let world: ViewerWorld;
let watched: WatchedPage;

beforeAll(async () => {
  browser = await openBrowser();
  world = await openViewerWorld();
});
afterAll(async () => {
  await browser.close();
  await world.close();
});
beforeEach(async () => {
  watched = await openPage(browser, world.url);
});
afterEach(async () => {
  expect(watched.wrongs).toEqual([]);
  await watched.context.close();
});

describe('the runs page', () => {
  it('lists, searches, filters and sorts', async () => {
    await world.ended(named('alpha__1', 2));
    await world.ended(named('beta__2', 3));
    const { request } = named('gamma__3', 1);
    await world.start(request, async () => Promise.reject(new Error('defect')));
    const { page } = watched;
    await page.goto(world.url);
    const names = () => page.locator('tbody th a').allInnerTexts();
    await page.locator('.status-failed').waitFor();
    expect(await names()).toEqual(['gamma__3', 'beta__2', 'alpha__1']);
    await page.getByRole('button', { name: 'Instance' }).click();
    await page.locator('th[aria-sort="descending"]', { hasText: 'Instance' }).waitFor();
    await page.getByRole('button', { name: 'Instance' }).click();
    await page.locator('th[aria-sort="ascending"]', { hasText: 'Instance' }).waitFor();
    await page.waitForFunction(() => document.querySelector('tbody th a')?.textContent === 'alpha__1');
    await page.getByLabel('Search').fill('BETA');
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    expect(await names()).toEqual(['beta__2']);
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Status').selectOption('failed');
    await page.locator('tbody th a', { hasText: 'gamma__3' }).waitFor();
    expect(await names()).toEqual(['gamma__3']);
    await page.getByLabel('Search').fill('nothing of that name');
    await page.getByText('No runs match').waitFor();
  });

  it('takes runs to their comparison, however many', async () => {
    const [a, b] = [named('compared__1'), named('compared__1')];
    await world.ended(a);
    const changed = { ...b.result, selection: { ...b.result.selection, candidate_id: 'rollout-2' } };
    await world.ended({ request: { ...b.request, preset: 'ef-only' }, result: changed });
    const other = patchOf((text) => text.replace('a + b', 'b + a'));
    const rollouts = b.result.rollouts.map((rollout) => ({ ...rollout, patch: other }));
    await world.ended({ request: { ...b.request, seed: 7 }, result: { ...b.result, rollouts } });
    const { page } = watched;
    await page.goto(`${world.url}/#/runs?q=compared__1`);
    const boxes = page.getByRole('checkbox', { name: /compared__1/ });
    for (const nth of [0, 1, 2]) await boxes.nth(nth).check();
    await page.getByRole('link', { name: 'Compare the 3 selected runs' }).click();
    const preset = page.locator('tr', { hasText: 'Preset' });
    await preset.waitFor();
    expect(await preset.getAttribute('class')).toBe('differs');
    expect(await preset.locator('td').allInnerTexts()).toEqual(['deepswe', 'ef-only', 'deepswe']);
    expect(await page.locator('tr', { hasText: 'Agrees with' }).locator('td').allInnerTexts()).toEqual([
      'none',
      'C',
      'B',
    ]);
    await page.getByText('Some candidates have the same name and different patches.').waitFor();
    const said = (name: string) => page.locator('tr', { hasText: name }).locator('td').allInnerTexts();
    expect(await said('Selected')).toEqual(['rollout-1', 'rollout-2', 'rollout-1']);
    expect(await said('Confidence')).toEqual(['75.0%', '75.0%', '75.0%']);
  });
});

describe('the page of a run', () => {
  it('says which patch, on what ground, and shows what it was made of', async () => {
    const id = await world.ended(named('shown__1'));
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.getByRole('heading', { level: 1, name: 'shown__1' }).waitFor();
    expect(await page.locator('.decision').innerText()).toMatch(
      /★ rollout-1[^]*max execution_free[^]*hybrid[^]*75\.0%/,
    );
    expect(await page.locator('.candidates tbody th a').allInnerTexts()).toEqual([
      'rollout-1',
      'rollout-2',
      'rollout-3',
      'rollout-4',
    ]);
    expect(await page.locator('.candidates tbody tr').nth(1).innerText()).toContain('leak:git-history:step-4');
    expect(await page.locator('.diff .added').first().innerText()).toBeTruthy();
    const cell = page.getByRole('gridcell', { name: 't2 on rollout-1: solved' });
    expect(await cell.innerText()).toBe('✓');
    expect(await page.getByRole('rowheader', { name: /t1/ }).innerText()).toContain('rejected');
    expect(await page.locator('.matrix thead .letter').allInnerTexts()).toEqual(['', 'A', 'B', 'A', 'B']);
    await cell.click();
    await page.getByText('Traceback (most recent call last)').waitFor();
  });

  it('says which process did what', async () => {
    const { request, result } = named('spread__1');
    const id = await world.start(request, async (_, emit) => {
      for (const [worker, kind, label] of [
        ['left:1:aa', 'rollout', 'rollout-1'],
        ['left:1:aa', 'verdict', 'rollout-1'],
        ['right:2:bb', 'cells', 'rollout-1'],
      ] as const)
        await emit('part', { kind, label, worker, attempts: 1, seconds: 1.25 });
      return result;
    });
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.getByText('Provenance and usage').click();
    const rows = page.getByRole('region', { name: 'Work by process' }).locator('tbody tr');
    await rows.first().waitFor();
    expect((await rows.allInnerTexts()).map((text) => text.split(/\s+/).slice(0, 4))).toEqual([
      ['left:1:aa', '1', '1', '0'],
      ['right:2:bb', '0', '0', '1'],
    ]);
  });

  it('hands out the selected patch byte for byte', async () => {
    const id = await world.ended(named('saved__1'));
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download patch', exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('saved__1.diff');
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe(patchOf());
  });

  it('reads 5,000 steps page by page', async () => {
    const id = await world.ended(viewedRun({ candidates: 1, steps: 5_000, tests: 1 }));
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}/candidates/rollout-1?tab=trajectory`);
    await page.locator('.step').first().waitFor();
    expect(await page.locator('.step').count()).toBe(50);
    await page.getByRole('spinbutton', { name: 'Step' }).first().fill('4321');
    await page.getByRole('spinbutton', { name: 'Step' }).first().press('Enter');
    await page.getByText('Step 4321', { exact: true }).waitFor();
    expect(await page.locator('.step').count()).toBe(50);
    expect(await page.getByRole('tab', { name: 'Trajectory' }).getAttribute('aria-selected')).toBe('true');
  });

  it('shows the beginning of a patch of 10 MB, and says what a binary patch is', async () => {
    const lines = Array.from({ length: 150_000 }, (_, n) => `+line ${n} ${'x'.repeat(55)}\n`).join('');
    const long = `diff --git a/a.py b/a.py\nnew file mode 100644\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,150000 @@\n${lines}`;
    const binary = 'diff --git a/a.png b/a.png\nindex 1..2 100644\nBinary files a/a.png and b/a.png differ\n';
    const candidates = [long, binary, ''].map((patch, n) => ({ candidate_id: `c${n}`, patch }));
    const issue = { instance_id: 'long__1', problem_statement: '', environment: { image: 'demo:1' } };
    const request = RunRequest.parse({ issue, candidates });
    const id = await world.start(request, async () => runResult(null));
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}/candidates/c0`);
    await page.getByText('The patch is long').waitFor();
    expect(await page.locator('.diff .added.code').count()).toBe(400);
    await page.goto(`${world.url}/#/runs/${id}/candidates/c1`);
    await page.getByText('A binary file').waitFor();
    await page.goto(`${world.url}/#/runs/${id}/candidates/c2`);
    await page.getByText('The patch is empty').waitFor();
    await page.getByText('none: no patch is returned').waitFor();
  });

  it('says so when there was one candidate, and when everybody abstained', async () => {
    const one = named('one__1', 1, 1);
    const verdicts = one.result.verdicts.map(({ candidate_id, measure }) => ({
      ...{ kind: 'abstained' as const, candidate_id, measure },
      ...{ reason: 'infrastructure' as const, detail: 'no engine', evidence: {} },
    }));
    const id = await world.ended({ request: one.request, result: { ...one.result, verdicts } });
    await watched.page.goto(`${world.url}/#/runs/${id}`);
    await watched.page.getByText('There was only one candidate').waitFor();
    await watched.page.getByText('Every verifier abstained').waitFor();
  });
});

describe('a candidate that several judges saw', () => {
  it('shows what each of them was given, and the model that was asked', async () => {
    const { request, result } = named('many__1', 2, 1);
    const problem = 'It makes add return the sum.';
    const pairs = { method: 'pairs-copeland', model: 'c', wins: 1, beats: ['rollout-2'], losses: 0, ties: 0 };
    const critic = { method: 'critic-classify', model: 'd', labels: { insufficient_testing: 0.4 } };
    const saw = {
      'ef:yes-no@a': { model: 'a', shown: ['source'] },
      'ef:yes-no@e': { model: 'e' },
      'ef:backward@b': { model: 'b', problem },
      'ef:pairs@c': pairs,
      'ef:critic@d': critic,
    };
    const verdicts = result.verdicts.flatMap((verdict) =>
      verdict.measure === 'execution_free'
        ? Object.entries(saw).map(([measure, evidence]) => ({ ...verdict, measure, evidence }))
        : [verdict],
    );
    const measures = Object.keys(saw).map((name) => judgeMeasure(name));
    const id = await world.ended({ request, result: { ...result, verdicts, measures } });
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}/candidates/rollout-1?tab=verdicts`);
    const yesNo = page.getByRole('region', { name: 'What ef:yes-no@a saw' });
    const backward = page.getByRole('region', { name: 'What ef:backward@b saw' });
    await yesNo.getByText('model a').waitFor();
    await yesNo.getByText('source around the change').waitFor();
    await backward.getByText('model b').waitFor();
    await backward.getByText('The patch without the issue').waitFor();
    const region = (name: string) => page.getByRole('region', { name, exact: true });
    await region('What ef:pairs@c saw').getByText('a second candidate, in both orders').waitFor();
    await region('ef:pairs@c').getByText('rollout-2').waitFor();
    await region('What ef:critic@d saw').getByText('The issue and 3 steps, without the patch.').waitFor();
    await region('ef:critic@d').getByText('insufficient_testing 0.4').waitFor();
    expect(await page.locator('summary', { hasText: 'Prompt' }).count()).toBe(5);
    const asked = page.waitForRequest(/judge-prompt/);
    await region('What ef:yes-no@e saw').locator('summary', { hasText: 'Prompt' }).click();
    expect((await asked).url()).toMatch(/judge-prompt\?measure=ef%3Ayes-no%40e$/);
    await region('What ef:yes-no@e saw').locator('section[aria-label=user] pre').waitFor();
  });
});

describe('the reports page', () => {
  it('lists reports and links to them', async () => {
    const { page } = watched;
    const report = { id: 'report 1', title: 'Nightly', created_at: '2026-11-21T08:00:00.000Z' };
    await page.route('**/v1/reports', (route) => route.fulfill({ json: { reports: [report], next_cursor: null } }));
    await page.goto(`${world.url}/#/reports`);
    expect(await page.getByRole('link', { name: 'Nightly' }).getAttribute('href')).toBe('/v1/reports/report%201');
  });

  it('says so when the service has none', async () => {
    await watched.page.route('**/v1/reports', (route) => route.fulfill({ status: 404, json: {} }));
    await watched.page.goto(`${world.url}/#/reports`);
    await watched.page.getByText('This service has no reports.').waitFor();
  });
});

describe('the benchmark page', () => {
  it('is found in a list that leads to older ones and back', async () => {
    const { page } = watched;
    const json = { benchmarks: [], next_cursor: 'older' };
    await page.route('**/v1/benchmarks*', (route) => route.fulfill({ json }));
    await page.goto(`${world.url}/#/benchmarks`);
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByRole('button', { name: 'First page' }).click();
    await page.getByRole('button', { name: 'First page' }).waitFor({ state: 'detached' });
  });

  it('shows issues and arms as they go on, right and wrong once graded, and leads to each run', async () => {
    const { page } = watched;
    const run = viewedRun({ candidates: 2, steps: 1, tests: 2 });
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const ids = ['bench__a-1', 'bench__a-2'];
    for (const instance of ids) {
      world.plays(instance, async () => {
        await opened;
        return run.result;
      });
    }
    const rows = ids.map((instance_id) => ({ instance_id, problem_statement: 'x', environment: { image: 'x:1' } }));
    const bench = {
      title: 'Nightly',
      arms: [
        { name: 'mine', k: 2 },
        { name: 'other', k: 2 },
      ],
    };
    const id = await world.benchmark([bench, ...rows]);

    await page.goto(world.url);
    await page.getByRole('link', { name: 'Benchmarks' }).click();
    await page.getByRole('link', { name: 'Nightly' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nightly' }).waitFor();
    const issues = page.getByRole('region', { name: 'Table of issues' });
    await issues.locator('.status-running').first().waitFor();
    expect(await issues.locator('tbody th').allInnerTexts()).toEqual(ids);

    const [first, second] = await world.store.benchmarks.runs(id);
    const counts = { graded: 2, right_candidates: 1, ungraded: 0 };
    const grades = { ...counts, best: [0.5, 0.75], document: { grades: [], ungraded: [] } };
    await page.getByText('Nothing has been graded yet').waitFor();
    await world.store.benchmarks.grade(first?.id ?? '', { ...grades, right: true });
    const best = page.locator('.plot', { hasText: 'Best@K: what each arm selects' });
    await best.getByRole('img').first().waitFor();
    await best.getByText('Numbers').click();
    expect(await best.locator('tbody tr').nth(1).innerText()).toMatch(/^mine\s+2\s+0\.75\s+0\.\d+\s+\d/);

    open();
    // Nobody asks for the page again: its events say that it goes on.
    await page.locator('header .status-done').waitFor();
    await issues.getByText('selected').nth(2).waitFor();
    expect(await issues.locator('.cell-facts').first().innerText()).toBe(
      'P 0.75 · by max execution_free · $0.5000 · 1.5 s',
    );
    await world.store.benchmarks.grade(second?.id ?? '', { ...grades, right: false });
    await page.reload();
    await issues.locator('.outcome-right').waitFor();
    await issues.locator('.outcome-wrong').waitFor();
    const outcome = page.getByRole('combobox', { name: 'Outcome in any arm' });
    for (const [name, left] of [
      ['not graded', ids.slice(1)],
      ['right candidate not selected', ids.slice(0, 1)],
      ['arms disagree', ids.slice(0, 1)],
      ['no right candidate', []],
      ['right', ids.slice(0, 1)],
    ] as const) {
      await outcome.selectOption(name);
      const shown = (want: string): boolean =>
        [...document.querySelectorAll('.issues tbody th')].map(({ textContent }) => textContent).join() === want;
      await page.waitForFunction(shown, left.join());
    }
    await page.getByRole('combobox', { name: 'Repository' }).selectOption('bench/a');
    await page.getByLabel('Issue', { exact: true }).fill('a-1');
    await page.getByText('1 of 2 issues').waitFor();
    const rates = page.getByRole('region', { name: 'Right so far' }).locator('tbody tr').first();
    expect(await rates.innerText()).toMatch(/mine\s+50\.0%\s+100\.0% \(20\.7 to 100\.0, 1 issue\)\s+100\.0%/);
    // What comes in meanwhile may draw the table anew, and take the focus.
    await until(async () => {
      await issues.getByRole('link').first().focus();
      await page.keyboard.press('ArrowRight');
      const cell = await page.evaluate(() => document.activeElement?.closest('td')?.innerText);
      return cell?.includes('wrong, 1 right');
    });
    await issues.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(page.url()).toContain(first?.id);
    await page.getByRole('link', { name: '← Benchmark' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nightly' }).waitFor();
  });
});

describe('why a run selected what it selected', () => {
  runPageTests(() => ({ world, watched }));
});
