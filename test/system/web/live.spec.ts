import type { Browser } from 'playwright-core';
import request from 'supertest';
import { viewedRun } from '../../fixtures/viewed-runs.js';
import { openBrowser, openPage, type WatchedPage } from './browser.js';
import { openViewerWorld, type ViewerWorld } from './viewer-world.js';

let browser: Browser;
const worlds: ViewerWorld[] = [];
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await Promise.all(worlds.map((world) => world.close()));
});

async function open(apiKeys: readonly string[] = []): Promise<{ world: ViewerWorld; watched: WatchedPage }> {
  const world = await openViewerWorld(apiKeys);
  worlds.push(world);
  return { world, watched: await openPage(browser, world.url) };
}

/** Something that a script waits for, and that a test lets go. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const { request: asked, result } = viewedRun({ candidates: 2, steps: 2, tests: 2 });
const cell = { candidate_id: 'rollout-1', suite: 'reproduction', test_id: 't1', outcome: 'solved', duration_ms: 1 };

describe('a run that is worked on', () => {
  it('tells its steps, cells and end as they come, also after the connection broke', async () => {
    const { world, watched } = await open();
    const [tests, end] = [gate(), gate()];
    const id = await world.start(asked, async (_run, emit) => {
      const did = { tool: 'execute_bash', gist: 'pytest -q', exit_code: 1, llm_s: 2, env_s: 0.5 };
      await emit('step', { candidate_id: 'rollout-1', step: 6, ...did });
      await emit('step', { candidate_id: 'rollout-1', step: 7, ...did, gist: 'cat src/add.py', exit_code: 0 });
      const since = new Date(Date.now() - 60_000).toISOString();
      await emit('calls', { under_way: [{ purpose: 'judge', model: 'm<1>', calls: 2, since }] });
      await tests.opened;
      await emit('calls', { under_way: [] });
      await emit('cell', { ...cell, passed: null, total: null });
      await end.opened;
      return result;
    });
    const { page, context } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.locator('.tries summary', { hasText: '7 steps' }).click();
    await page.locator('.tries summary', { hasText: 'cat src/add.py · waiting for the next step for' }).waitFor();
    expect(await page.locator('.live-steps li').allInnerTexts()).toEqual([
      expect.stringMatching(/^execute_bash cat src\/add\.py\s+model 2\.0 s · action 0\.5 s$/),
      expect.stringMatching(/^execute_bash pytest -q exit 1 model 2\.0 s · action 0\.5 s$/),
    ]);
    const calls = page.getByRole('list', { name: 'Model calls in progress' });
    expect(await calls.innerText()).toMatch(/^Judge m<1> 2 calls in progress, the oldest for \d\d+ s$/);
    await context.setOffline(true);
    await context.setOffline(false);
    tests.open();
    expect(await page.getByRole('gridcell', { name: 't1 on rollout-1: solved' }).innerText()).toBe('✓');
    expect(await page.locator('.live').innerText()).toContain('1 test outcome');
    await calls.waitFor({ state: 'detached' });
    const document = { grades: [{ candidate_id: 'rollout-1', resolved: true, reason: '', tests: {} }], ungraded: [] };
    const counts = { right: true, graded: 1, right_candidates: 1, ungraded: 0, best: null };
    await world.store.benchmarks.grade(id, { ...counts, document });
    end.open();
    await page.getByText('★ rollout-1').waitFor();
    await page.locator('.live').waitFor({ state: 'detached' });
    await page.getByText('1 of 1 candidate right').waitFor();
    expect(watched.wrongs).toEqual([]);
  });

  it('is cancelled from the page', async () => {
    const { world, watched } = await open();
    const id = await world.start(asked, (_run, _emit, signal) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    });
    await watched.page.goto(`${world.url}/#/runs/${id}`);
    await watched.page.getByRole('button', { name: 'Cancel run' }).click();
    await watched.page.getByText('The run was cancelled.').waitFor();
    await watched.page.getByRole('button', { name: 'Cancel run' }).waitFor({ state: 'detached' });
  });
});

describe('a benchmark that ended and is resumed', () => {
  it('is followed again, and asked for its events only while it is not over', async () => {
    const { world, watched } = await open();
    const { page } = watched;
    const [first, second] = [gate(), gate()];
    let tries = 0;
    world.plays('resumed__a-1', async () => {
      tries += 1;
      await (tries === 1 ? first : second).opened;
      if (tries === 1) throw new Error('defect');
      return result;
    });
    const issue = { instance_id: 'resumed__a-1', problem_statement: 'x', environment: { image: 'x:1' } };
    const id = await world.benchmark([{ title: 'Resumed', arms: [{ name: 'mine', k: 2 }] }, issue]);
    await page.goto(`${world.url}/#/benchmarks/${id}`);
    const status = (name: string): Promise<void> => page.locator(`header .status-${name}`).waitFor();
    const selected = page.getByRole('region', { name: 'Table of issues' }).getByText('selected');
    await status('running');
    const over = page.waitForResponse((response) => response.status() === 204);
    first.open();
    await status('done');
    await over;
    await page.getByRole('button', { name: 'Resume' }).click();
    await status('running');
    second.open();
    await status('done');
    await selected.waitFor();
    const asked: string[] = [];
    page.on('request', (each) => asked.push(each.url()));
    await page.reload();
    await selected.waitFor();
    await status('done');
    expect(asked.filter((url) => url.endsWith('/events'))).toEqual([]);
  });
});

describe('a service with keys', () => {
  it('gives the page to everybody, and data and live events to who has a key', async () => {
    const { world, watched } = await open(['s3cret']);
    const end = gate();
    const id = await world.start(asked, async (_run, emit) => {
      await emit('step', { candidate_id: 'rollout-1', step: 3, tool: 'search' });
      await end.opened;
      return result;
    });
    const { page } = watched;
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.getByLabel('Key').fill('wrong');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByText('did not accept that key').waitFor();
    await page.getByLabel('Key').fill('s3\u200bcret');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByText('a character that no key can contain').waitFor();
    await page.getByLabel('Key').fill('s3cret');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByText('3 steps').first().waitFor();
    end.open();
    await page.getByText('★ rollout-1').waitFor();
    expect(await page.evaluate(() => [document.cookie, localStorage.length])).toEqual(['', 0]);
    expect(await (await fetch(`${world.url}/`)).text()).not.toContain('s3cret');
  });
});

describe('the page of calls', () => {
  it('makes a call with the key that is typed in, and keeps it nowhere', async () => {
    const { world, watched } = await open(['s3cret']);
    const { page } = watched;
    await page.goto(`${world.url}/docs#listRuns`);
    const call = page.locator('#listRuns');
    const said = call.locator('output');
    await call.getByRole('button', { name: 'Execute' }).click();
    await said.filter({ hasText: /^401 / }).waitFor();
    await page.getByLabel('API key').fill('s3cret');
    await call.getByLabel('limit').fill('1000');
    await call.getByRole('button', { name: 'Execute' }).click();
    await said.filter({ hasText: /^422 .*problem\+json/ }).waitFor();
    await call.getByText('"detail"').waitFor();
    await call.getByLabel('limit').fill('');
    await call.getByLabel('limit').press('Enter');
    await said.filter({ hasText: /^200 OK · application\/json/ }).waitFor();
    expect(JSON.parse(await call.locator('.try pre').innerText())).toMatchObject({ runs: [], next_cursor: null });
    expect(await page.locator('#submitRun form, #followRun form').count()).toBe(0);
    const kept = await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]);
    expect(kept).toEqual(['', 0, 0]);
    expect(watched.wrongs).toEqual([]);
  });
});

describe('the files of the viewer', () => {
  it('come with a strict policy, and their names change with their content', async () => {
    const { world } = await open();
    const page = await fetch(`${world.url}/`);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|style=/);
    const [, script = ''] = /src="(\/assets\/[^"]+)"/.exec(html) ?? [];
    const asset = await fetch(`${world.url}${script}`);
    expect(asset.headers.get('cache-control')).toContain('immutable');
    expect(asset.headers.get('content-type')).toContain('text/javascript');
    const tag = asset.headers.get('etag') ?? '';
    await request(world.url).get(script).set('If-None-Match', tag).expect(304);
    for (const path of ['/assets/%2e%2e/%2e%2e/package.json', '/assets/nothing.js']) {
      expect((await fetch(`${world.url}${path}`)).status).toBe(404);
    }
  });
});
