import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { openSqliteStore } from '../../dist/src/store/sqlite.js';
import { viewedRun } from '../../test/fixtures/viewed-runs.ts';
import { browserPath } from '../setup/browser.mjs';
import { serve } from '../viewer/serve.mjs';
import { aim, median } from './world.mjs';

const ARMS = ['mine', 'other'];
const AIM_MS = 1_000;

/** Interactive = the last issue stands on the page, and the main thread has been free of long tasks since. */
export async function benchPage(short) {
  const [issues, rounds] = short ? [10, 1] : [500, 7];
  const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-'));
  const id = await fill(join(folder, 'store.sqlite'), issues);
  const service = await serve(join(folder, 'store.sqlite'));
  const browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
  try {
    const url = `${service.url}/#/benchmarks/${id}`;
    const first = await look(browser, url, issues);
    const looks = [];
    for (let round = 0; round < rounds; round += 1) looks.push(await look(browser, url, issues));
    const ms = Math.round(median(looks));
    const said = `page of ${issues} issues x ${ARMS.length} arms interactive after ${ms} ms (aim ${AIM_MS}; first look ${Math.round(first)} ms)`;
    return aim(said, short || ms <= AIM_MS);
  } finally {
    await browser.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(file, issues) {
  const store = await openSqliteStore(file);
  const { id } = await store.benchmarks.create('bench', { title: 'Bench', hash: '', submitter: '' });
  const instances = Array.from({ length: issues }, (_, n) => `org__repo-${n}`);
  const { request, result } = viewedRun({ candidates: 8, steps: 1, tests: 4 });
  for (const [n, instance_id] of instances.entries()) {
    for (const arm of ARMS) {
      const asked = { ...request, issue: { ...request.issue, instance_id } };
      const { run } = await store.runs.create(`${arm} ${n}`, asked, { alone: true, benchmark: { id, arm } });
      await store.runs.update(run.id, { status: 'done', result });
      const grades = { right: n % 3 === 0, graded: 8, right_candidates: n % 5, ungraded: 0, document: {} };
      await store.benchmarks.grade(run.id, grades);
    }
  }
  const arms = ARMS.map((name) => ({ name, k: 8 }));
  await store.benchmarks.begin(id, { arms, instances, skipped: [] }, {});
  await store.benchmarks.change(id, { status: 'done', note: null }, ['running']);
  await store.close();
  return id;
}

async function look(browser, url, issues) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watch, issues);
  await page.goto(url);
  await page.waitForFunction(() => globalThis.drawn !== undefined);
  await page.waitForTimeout(300);
  const interactive = await page.evaluate(() => Math.max(globalThis.drawn, ...globalThis.longTasks));
  await context.close();
  return interactive;
}

/** Runs in the page, before anything else of it. */
function watch(issues) {
  globalThis.longTasks = [];
  const note = (list) => list.getEntries().forEach((task) => globalThis.longTasks.push(task.startTime + task.duration));
  new PerformanceObserver(note).observe({ type: 'longtask', buffered: true });
  const seen = new MutationObserver(() => {
    if (document.querySelectorAll('.issues tbody tr').length < issues) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => (globalThis.drawn = performance.now())));
  });
  seen.observe(document, { childList: true, subtree: true });
}
