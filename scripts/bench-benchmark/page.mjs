import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { openSqliteStore } from '../../dist/src/store/sqlite.js';
import { viewedRun } from '../../test/fixtures/viewed-runs.ts';
import { browserPath } from '../setup/browser.mjs';
import { serve } from '../viewer/serve.mjs';
import { aim, median } from './world.mjs';

const ARMS = ['mine', 'other', 'third', 'fourth'];
const AIM_MS = 1_000;
/** A longer wait is felt as a stutter. */
const FRAME_MS = 100;
/** Best@1 to Best@8. */
const BEST = Array.from({ length: 8 }, (_, k) => 0.5 + k / 20);

/**
 * Interactive = curves and the first rows stand on the page, and the main thread has been free of long tasks since. The others
 * come as the reader scrolls: the longest wait for a frame on the way to the last of twice as many says whether that lags.
 */
export async function benchPage(short) {
  const [issues, rounds] = short ? [10, 1] : [500, 7];
  const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-'));
  const id = await fill(join(folder, 'store.sqlite'), 'page', issues);
  const long = await fill(join(folder, 'store.sqlite'), 'scroll', 2 * issues);
  const service = await serve(join(folder, 'store.sqlite'));
  const browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
  try {
    const url = `${service.url}/#/benchmarks/${id}`;
    const first = await look(browser, url);
    const looks = [];
    for (let round = 0; round < rounds; round += 1) looks.push(await look(browser, url));
    const ms = Math.round(median(looks));
    const said = `page of ${issues} issues x ${ARMS.length} arms interactive after ${ms} ms (aim ${AIM_MS}; first look ${Math.round(first)} ms)`;
    const { rows, frame } = await scroll(browser, `${service.url}/#/benchmarks/${long}`, 2 * issues);
    const scrolled = `scrolling through ${rows} rows x ${ARMS.length} arms: longest wait for a frame ${Math.round(frame)} ms (aim ${FRAME_MS})`;
    const isQuick = aim(said, short || ms <= AIM_MS);
    return aim(scrolled, short || frame <= FRAME_MS) && isQuick;
  } finally {
    await browser.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(file, name, issues) {
  const store = await openSqliteStore(file);
  const { id } = await store.benchmarks.create(name, { title: 'Bench', hash: '', submitter: '' });
  const instances = Array.from({ length: issues }, (_, n) => `org__repo-${n}`);
  const { request, result } = viewedRun({ candidates: 8, steps: 1, tests: 4 });
  for (const [n, instance_id] of instances.entries()) {
    for (const arm of ARMS) {
      const asked = { ...request, issue: { ...request.issue, instance_id } };
      const { run } = await store.runs.create(`${name} ${arm} ${n}`, asked, { alone: true, benchmark: { id, arm } });
      await store.runs.update(run.id, { status: 'done', result });
      const grades = {
        right: n % 3 === 0,
        graded: 8,
        right_candidates: n % 5,
        ungraded: 0,
        best: BEST,
        document: { grades: [], ungraded: [] },
      };
      await store.benchmarks.grade(run.id, grades);
    }
  }
  const arms = ARMS.map((name) => ({ name, k: 8 }));
  await store.benchmarks.begin(id, { arms, instances, skipped: [] }, {});
  await store.benchmarks.change(id, { status: 'done', note: null }, ['running']);
  await store.close();
  return id;
}

async function look(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(url);
  await page.waitForFunction(() => globalThis.drawn !== undefined);
  await page.waitForTimeout(300);
  const interactive = await page.evaluate(() => Math.max(globalThis.drawn, ...globalThis.longTasks));
  await context.close();
  return interactive;
}

async function scroll(browser, url, issues) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(url);
  await page.locator('.issues tbody tr').first().waitFor();
  const found = await page.evaluate(async (most) => {
    const rows = () => document.querySelectorAll('.issues tbody tr').length;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let [last, longest] = [await frame(), 0];
    const isAtEnd = () => rows() >= most && scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
    for (let n = 0; n < 5_000 && !isAtEnd(); n += 1) {
      scrollBy(0, 300);
      const now = await frame();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return { rows: rows(), frame: longest };
  }, issues);
  await page.close();
  return found;
}

/** Runs in the page, before anything else of it. */
function watch() {
  globalThis.longTasks = [];
  const note = (list) => list.getEntries().forEach((task) => globalThis.longTasks.push(task.startTime + task.duration));
  new PerformanceObserver(note).observe({ type: 'longtask', buffered: true });
  const seen = new MutationObserver(() => {
    const isThere = ['.issues tbody tr', '.arm-curve svg'].every((part) => document.querySelector(part) !== null);
    if (!isThere) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => (globalThis.drawn = performance.now())));
  });
  seen.observe(document, { childList: true, subtree: true });
}
