import { setTimeout as sleep } from 'node:timers/promises';
import { viewedRun } from '../../test/fixtures/viewed-runs.ts';
import { openViewerWorld } from '../../test/system/web/viewer-world.ts';

const EVENTS = 200;
const EVERY_MS = 50;

/** How long each of 20 steps a second takes from the run that told it to the screen: milliseconds, in rising order. */
export async function eventsToPixels(browser) {
  const world = await openViewerWorld();
  const { request, result } = viewedRun({ candidates: 4, steps: 1, tests: 4 });
  let isWatched = () => undefined;
  const watched = new Promise((resolve) => (isWatched = resolve));
  try {
    const id = await world.start(request, async (_run, emit) => {
      await emit('step', { candidate_id: 'rollout-1', step: 1, tool: 'execute_bash', gist: 'before' });
      await watched;
      const begin = Date.now();
      for (let n = 1; n <= EVENTS; n += 1) {
        await sleep(Math.max(0, begin + n * EVERY_MS - Date.now()));
        await emit('step', { candidate_id: 'rollout-1', step: n + 1, tool: 'execute_bash', gist: String(Date.now()) });
      }
      await sleep(1_000);
      return result;
    });
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${world.url}/#/runs/${id}`);
    await page.locator('.tries summary').click();
    await page.evaluate(watch);
    isWatched();
    await page.waitForFunction((all) => globalThis.delays.length >= all, EVENTS, { timeout: 120_000 });
    const delays = await page.evaluate(() => globalThis.delays);
    await page.close();
    return delays.sort((a, b) => a - b);
  } finally {
    isWatched();
    await world.close();
  }
}

/** Runs in the page: every step that is new in the list is seen when its frame is drawn. */
function watch() {
  globalThis.delays = [];
  const seen = new Set();
  new MutationObserver(() => {
    const told = [...document.querySelectorAll('.live-steps code')].map((each) => each.textContent);
    const fresh = told.filter((text) => /^\d+$/.test(text) && !seen.has(text));
    for (const text of fresh) seen.add(text);
    if (fresh.length === 0) return;
    requestAnimationFrame(() =>
      setTimeout(() => {
        const now = Date.now();
        globalThis.delays.push(...fresh.map((text) => now - Number(text)));
      }),
    );
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}
