// `npm run bench:viewer`: the page of a large run in headless Chromium, before the real service and a real store: 26
// candidates with 300 steps each and a matrix of 40 x 26. Interactive = ranking, patch and matrix stand on the page and
// the main thread has been free of long tasks since. Then the sizes of what the browser loads.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { openSqliteStore } from '../dist/src/store/sqlite.js';
import { viewedRun } from '../test/fixtures/viewed-runs.ts';
import { browserPath } from './setup/browser.mjs';
import { serve } from './viewer/serve.mjs';

const SHAPE = { candidates: 26, steps: 300, tests: 40 };
const ROUNDS = 7;

const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-viewer-'));
const path = join(folder, 'store.sqlite');
const { id, megabytes } = await fill(path);
const service = await serve(path);
const browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
try {
  const first = await look();
  const looks = [];
  for (let round = 0; round < ROUNDS; round += 1) looks.push(await look());
  const median = (name) => looks.map((each) => each[name]).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  console.log(
    `run of ${SHAPE.candidates} candidates x ${SHAPE.steps} steps, ${megabytes.toFixed(1)} MB stored; median of ${ROUNDS}`,
  );
  console.log(`first look of the service   ${Math.round(first.interactive)} ms`);
  console.log(`evidence answered           ${Math.round(median('evidence'))} ms`);
  console.log(`interactive                 ${Math.round(median('interactive'))} ms (aim 1000)`);
  console.log(`trajectory after the click  ${Math.round(median('trajectory'))} ms`);
  sizes();
} finally {
  await browser.close();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function fill(file) {
  const store = await openSqliteStore(file);
  const { request, result } = viewedRun(SHAPE);
  const { run } = await store.runs.create('bench', request);
  await store.runs.update(run.id, { status: 'done', result });
  await store.close();
  return { id: run.id, megabytes: JSON.stringify(result).length / 1e6 };
}

async function look() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(`${service.url}/#/runs/${id}`);
  await page.waitForFunction(() => globalThis.drawn !== undefined);
  await page.waitForTimeout(300);
  const { interactive, evidence } = await page.evaluate(() => ({
    interactive: Math.max(globalThis.drawn, ...globalThis.longTasks),
    evidence: performance.getEntriesByType('resource').find(({ name }) => name.endsWith('/evidence')).responseEnd,
  }));
  const trajectory = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const start = performance.now();
        new MutationObserver(() => {
          if (document.querySelector('.step') !== null) requestAnimationFrame(() => resolve(performance.now() - start));
        }).observe(document.body, { childList: true, subtree: true });
        document.getElementById('tab-trajectory').click();
      }),
  );
  await context.close();
  return { interactive, evidence, trajectory };
}

/** Runs in the page, before anything else of it. */
function watch() {
  globalThis.longTasks = [];
  const note = (list) => list.getEntries().forEach((task) => globalThis.longTasks.push(task.startTime + task.duration));
  new PerformanceObserver(note).observe({ type: 'longtask', buffered: true });
  const seen = new MutationObserver(() => {
    const parts = ['.candidates tbody tr', '.diff tr', '.matrix tbody tr'];
    if (!parts.every((part) => document.querySelector(part) !== null)) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => (globalThis.drawn = performance.now())));
  });
  seen.observe(document, { childList: true, subtree: true });
}

function sizes() {
  const assets = 'dist/src/web-assets/assets';
  const files = readdirSync(assets).filter((name) => /\.(js|css)$/.test(name));
  const bodies = files.map((name) => readFileSync(join(assets, name)));
  const sum = (of) => (bodies.reduce((total, body) => total + of(body), 0) / 1000).toFixed(1);
  console.log(
    `script and style            ${sum((body) => body.length)} kB (aim 300), ${sum((body) => gzipSync(body).length)} kB packed`,
  );
}
