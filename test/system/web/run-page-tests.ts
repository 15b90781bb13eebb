import { RunRequest } from '../../../src/core/run/run-request.js';
import { BadInputError } from '../../../src/core/errors/errors.js';
import { patchOf, viewedRun, type ViewedRun } from '../../fixtures/viewed-runs.js';
import type { WatchedPage } from './browser.js';
import type { ViewerWorld } from './viewer-world.js';

/** A run of another instance: every text that names it begins with `name`. */
export function named(name: string, candidates = 4, tests = 4): ViewedRun {
  return viewedRun({ candidates, steps: 3, tests, text: (place) => place.replace('demo__issue-1', name) });
}

/** What a spec has set up. */
export type Setting = () => { readonly world: ViewerWorld; readonly watched: WatchedPage };

/** Tests of the page of a run that has ended, for the spec that has a browser and a service. */
export function runPageTests(setting: Setting): void {
  it('lays the issue out, says in a sentence why this patch, and what each source says of each candidate', async () => {
    const { request, result } = named('why__1', 3);
    const statement =
      '## Crash\n\n`add` is **wrong**, see [log](https://example.org/log).\n\n- one\n- two\n\n[x](javascript:alert(1))';
    const ranking = result.selection.ranking.map((each, index) => ({
      ...each,
      log_odds: { prior: -0.2, execution_free: 1.3 - index, reproduction: -index / 4 },
    }));
    const id = await setting().world.ended({
      request: { ...request, issue: { ...request.issue, problem_statement: statement } },
      result: { ...result, selection: { ...result.selection, ranking } },
    });
    const { page } = setting().watched;
    await page.goto(`${setting().world.url}/#/runs/${id}`);
    const issue = page.getByRole('region', { name: 'Problem statement' });
    await issue.locator('li', { hasText: 'two' }).waitFor();
    expect(await issue.locator('strong').innerText()).toBe('wrong');
    const links = issue.getByRole('link');
    expect(await links.count()).toBe(1);
    expect(await links.getAttribute('href')).toBe('https://example.org/log');
    expect(await issue.innerText()).toContain('[x](javascript:alert(1))');
    await page.getByRole('button', { name: 'As written' }).click();
    expect(await issue.innerText()).toContain(statement);
    expect(await page.locator('.why').innerText()).toBe(
      'It scores 0.90 with the judge, solves 4 of 9 generated tests; it leads rollout-2 by Judge (+1.00) and Tests (+0.25) in log-odds.',
    );
    const odds = page.getByRole('region', { name: 'Log-odds by source' });
    expect(await odds.locator('thead th').allInnerTexts()).toEqual([
      'Candidate',
      'Prior',
      'Judge',
      'Tests',
      'P(right)',
    ]);
    expect((await odds.locator('tbody tr').nth(2).innerText()).split(/\s+/).slice(0, 4)).toEqual([
      'rollout-3',
      '−0.20',
      '−0.70',
      '−0.50',
    ]);
    const width = (bar: number) => odds.locator('tbody tr').nth(2).locator('.odds-bar').nth(bar).boundingBox();
    expect((await width(1))?.width).toBeGreaterThan((await width(2))?.width ?? Infinity);
  });

  it('says which candidates are right once that is known, and shows the score that counted for equal patches', async () => {
    const { world, watched } = setting();
    const { request, result } = named('labels__1', 3);
    const ranking = result.selection.ranking.map((each, index) =>
      index === 0 ? { ...each, scores: { ...each.scores, execution_free: 0.715 } } : each,
    );
    const id = await world.ended({ request, result: { ...result, selection: { ...result.selection, ranking } } });
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    const rows = page.locator('.candidates tbody tr');
    await rows.first().waitFor();
    expect(await page.locator('.candidates thead th').allInnerTexts()).not.toContain('Right');
    expect(await rows.first().locator('.score').first().innerText()).toMatch(/^0\.715\s+mean; own 0\.900$/);
    expect(await rows.nth(1).locator('.score').first().innerText()).toBe('0.890');
    expect(await page.locator('.why').innerText()).toMatch(
      /^It scores 0\.71 with the judge, the mean of equal patches,/,
    );
    const grade = {
      resolved: false,
      reason: '1 of 2 required tests fails.',
      tests: { '<b>t</b>': 'failed', u: 'passed' },
    };
    const grades = [
      { ...grade, candidate_id: 'rollout-1' },
      { candidate_id: 'rollout-2', resolved: true, reason: 'All pass.', tests: {} },
    ];
    const document = { grades, ungraded: [{ candidate_id: 'rollout-3', reason: 'No engine.' }] };
    const counts = { right: false, graded: 2, right_candidates: 1, ungraded: 1, best: null };
    await world.store.benchmarks.grade(id, { ...counts, document });
    await page.reload();
    await page.getByRole('columnheader', { name: 'Right', exact: true }).waitFor();
    expect(await rows.locator('td:nth-child(3)').allInnerTexts()).toEqual(['✕ wrong', '✓ right', 'unknown']);
    expect(await page.locator('.decision').innerText()).toMatch(
      /Hidden tests\s+✕ wrong 1 of 2 candidates right, 1 unknown/,
    );
    await page.getByText('1 required test not passed').click();
    expect(await page.locator('.label-in-words').innerText()).toMatch(/1 of 2 required tests fails\.[^]*<b>t<\/b>$/);
  });

  it('copies the selected patch, or says that the browser forbids it', async () => {
    const id = await setting().world.ended(named('copied__1'));
    const { page, context } = setting().watched;
    await page.goto(`${setting().world.url}/#/runs/${id}`);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const copy = async (said: string): Promise<void> => {
      await page.getByRole('button', { name: 'Copy patch' }).click();
      await page.getByRole('status').getByText(said, { exact: true }).waitFor();
    };
    const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
    await copy('Patch copied to the clipboard.');
    expect(await copied()).toBe(patchOf());
    await page.evaluate(() => {
      navigator.clipboard.write = () => Promise.reject(new Error('not allowed'));
    });
    await copy('The browser refused to copy. Download the patch instead.');
    // As in older browsers.
    await page.evaluate(async () => {
      delete (window as { ClipboardItem?: unknown }).ClipboardItem;
      await navigator.clipboard.writeText('');
    });
    await copy('Patch copied to the clipboard.');
    expect(await copied()).toBe(patchOf());
    // As on a page over HTTP from another machine.
    await page.evaluate(() => delete (Navigator.prototype as { clipboard?: unknown }).clipboard);
    await copy('This page cannot copy. Download the patch instead.');
  });

  it('leads into a trajectory by words, edits and flags, and shows another one beside it', async () => {
    const { request, result } = viewedRun({
      candidates: 2,
      steps: 120,
      tests: 1,
      text: (place) => place.replace('demo__issue-1', 'steps__1'),
    });
    const rollouts = result.rollouts.map((rollout) => ({
      ...rollout,
      steps: rollout.steps.map((step, index) =>
        index === 70
          ? { ...step, action: '<function=file_editor>\n  <parameter=command>str_replace</parameter>' }
          : index === 80
            ? { ...step, action: '<function=execute_bash>\n<parameter=command>sed -i s/a/b/ src/add.py</parameter>' }
            : index === 90
              ? { ...step, observation: `${' '.repeat(9_000)}needle${' '.repeat(21_000)}` }
              : step,
      ),
    }));
    const id = await setting().world.ended({ request, result: { ...result, rollouts } });
    const { page } = setting().watched;
    await page.goto(`${setting().world.url}/#/runs/${id}/candidates/rollout-2?tab=trajectory`);
    await page.locator('.step').first().waitFor();
    expect(await page.locator('.step', { hasText: 'leak:git-history:step-4' }).textContent()).toContain('Step 4');
    const find = async (words: string): Promise<void> => {
      await page.getByLabel('Words in steps').fill(words);
      await page.getByRole('button', { name: 'Find' }).click();
    };
    await find('needle');
    await page.locator('.places', { hasText: /^1 step: 91$/ }).waitFor();
    await find('sed -i s');
    await page.locator('.places', { hasText: /^1 step: 81\. 1 step was searched only in part\.$/ }).waitFor();
    await page.route('**/steps*', (route) => route.fulfill({ status: 503, json: { detail: 'It is overloaded.' } }));
    await find('nowhere');
    await page.getByRole('search').getByText('It is overloaded.').waitFor();
    await page.unroute('**/steps*');
    await page.getByRole('search').getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No steps found. 1 step was searched only in part.').waitFor();
    await page.getByRole('button', { name: 'Edits' }).click();
    await page.locator('.places', { hasText: /^2 steps: 71\s+possible edits: 81$/ }).waitFor();
    const fold = page.locator('.step summary', { hasText: 'Step 71' });
    await page.getByRole('button', { name: 'Fold all steps' }).click();
    await page.locator('.places').getByRole('button').last().click();
    await page.locator('.step.aimed', { hasText: 'Step 81' }).getByText('possible edit').waitFor();
    await page.locator('.step details[open]').waitFor();
    expect(await page.locator('.step details').count()).toBe(50);
    await fold.focus();
    await page.keyboard.press('Enter');
    await page.locator('.step', { hasText: 'Step 71' }).getByText('Thought 71 of try 2.').waitFor();
    await page.keyboard.press('Enter');
    await fold.locator('.gist', { hasText: /^str_replace$/ }).waitFor();
    expect(await fold.innerText()).toMatch(
      /^Step 71 1\.1k in · 900 cached · 60 out · model 1\.5 s · action 0\.2 s\s*edit/,
    );
    await page.getByRole('button', { name: 'Unfold all steps' }).click();
    await find('THOUGHT 99 of');
    await page.locator('.places').getByRole('button', { name: '99', exact: true }).click();
    const aimed = page.locator('.step.aimed', { hasText: 'Thought 99 of try 2.' });
    await aimed.waitFor();
    // The page scrolls a moment after it marks the step.
    const isSeen = () =>
      page.waitForFunction(() => {
        const place = document.querySelector('.aimed')?.getBoundingClientRect();
        return place !== undefined && place.bottom > 0 && place.top < window.innerHeight;
      });
    await isSeen();
    await page.evaluate(() => {
      window.scrollTo(0, 0);
    });
    await page.locator('.places').getByRole('button', { name: '99', exact: true }).click();
    await isSeen();
    await page.getByRole('button', { name: 'First', exact: true }).first().click();
    await page.getByText('Thought 1 of try 2.').waitFor();
    await page.getByRole('button', { name: 'Next', exact: true }).first().click();
    await page.getByText('Thought 99 of try 2.').waitFor();
    expect(await aimed.count()).toBe(0);
    await page.getByLabel('Compare with').selectOption('rollout-1');
    await page.locator('.beside').getByText('Thought 1 of try 1.').waitFor();
    await page.locator('.beside').getByText('Thought 99 of try 2.').waitFor();
  });

  it('starts another run of the same candidates, and says what cannot be done', async () => {
    const { world, watched } = setting();
    const { request, result } = named('again__1');
    const own = { preset: 'mine', stages: [{ stage: 'max', by: 'execution_free' }] } as const;
    const id = await world.ended({ request: RunRequest.parse({ ...request, ...own }), result });
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.getByRole('button', { name: 'Rescore …' }).click();
    await page.getByRole('button', { name: 'Start new run' }).dblclick();
    await page.waitForFunction((old) => !location.hash.includes(old), id);
    await page.getByText('K = 4 given · preset mine').waitFor();
    const { runs } = await world.store.runs.list(5, null, { instance: 'again__1' });
    expect(runs).toHaveLength(2);
    expect((await world.store.runs.get(runs[0]?.id ?? ''))?.request).toMatchObject(own);
    await page.getByRole('button', { name: 'Rescore …' }).click();
    await page.getByLabel('Preset').selectOption('ef-only');
    await page.getByRole('button', { name: 'Start new run' }).click();
    await page.getByText('K = 4 given · preset ef-only').waitFor();
    await page.route('**/rescore', (route) =>
      route.fulfill({ status: 422, json: { detail: 'no model is set', next: 'Set one.' } }),
    );
    await page.getByRole('button', { name: 'Rescore …' }).click();
    await page.getByRole('button', { name: 'Start new run' }).click();
    await page.getByText('no model is set').waitFor();
  });

  it('says what could not be read, and reads it when asked again', async () => {
    const { world, watched } = setting();
    const { request, result } = named('unread__1', 1, 2);
    const [rollout] = result.rollouts;
    const steps = rollout?.steps.map((step) => ({ ...step, observation: `${' '.repeat(30_000)}the end` }));
    const rollouts = result.rollouts.map((each) => ({ ...each, steps: steps ?? [] }));
    const id = await world.ended({ request, result: { ...result, rollouts } });
    const { page } = watched;
    const fails = (path: string) =>
      page.route(path, (route) => route.fulfill({ status: 503, json: { detail: `No ${path}.` } }));
    const said = (path: string): Promise<void> => page.getByText(`No ${path}.`).waitFor();
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.getByRole('button', { name: 'Download this patch' }).waitFor();
    await fails('**/patch');
    await page.getByRole('button', { name: 'Download this patch' }).click();
    await said('**/patch');
    await fails('**/tests/t2');
    await page.getByRole('gridcell', { name: 't2 on rollout-1: solved' }).click();
    await said('**/tests/t2');
    await page.getByRole('tab', { name: 'Trajectory' }).click();
    await page.locator('.step').first().waitFor();
    await fails('**/steps?*limit=1&*');
    const whole = page.locator('.step').first().getByRole('button', { name: 'omitted characters' });
    await whole.click();
    await said('**/steps?*limit=1&*');
    await page.unroute('**/steps?*limit=1&*');
    await page.locator('.step').first().getByRole('button', { name: 'Try again' }).click();
    await whole.waitFor({ state: 'detached' });
  });

  it('says what failed and what to do next in a place of its own, in the list of runs too', async () => {
    const { request, result } = named('gaps__1', 2);
    const lost = { code: 'model-unavailable', message: 'The model did not answer.' };
    const failed = ['rollout-3', 'rollout-4'].map((candidate_id) => ({ candidate_id, ...lost }));
    const sampling = {
      asked: 4,
      sampled: 2,
      stopped: 'all' as const,
      detail: '',
      failed,
      refined: null,
      branched: null,
    };
    const id = await setting().world.ended({ request, result: { ...result, sampling } });
    const { page } = setting().watched;
    await page.goto(`${setting().world.url}/#/runs/${id}`);
    const problems = page.getByRole('region', { name: 'Problems and next steps' });
    await problems.waitFor();
    expect(await problems.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^2 rollouts could not be sampled: The model did not answer\. .* start the run again\./),
      'Regression: no score for any candidate. the issue names no regression_command no-tests',
    ]);
    const broken = await setting().world.start(named('broken__1', 1).request, () =>
      Promise.reject(new BadInputError('It has no image.', {}, 'Name one.')),
    );
    await page.goto(`${setting().world.url}/#/runs?q=${broken}`);
    const row = page.locator('tbody tr').first();
    await row.getByText('It has no image. Name one.').waitFor();
    const columns = await page.locator('thead th').allInnerTexts();
    const selected = columns.findIndex((name) => name.startsWith('Selected'));
    expect(await row.locator('th, td').nth(selected).innerText()).toBe('–');
  });
}
