// `npm run bench:viewer`: the pages of two runs in headless Chromium, before the real service and a real store: 8
// candidates with 60 steps each and 20 tests, and 26 with 300 and 40. Interactive = ranking, patch and matrix stand on the page and
// the main thread has been free of long tasks since. Then how long 20 events a second take to the screen, the page of a
// benchmark (as `bench:benchmark -- page`), and the sizes of what the browser loads.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { openSqliteStore } from '../dist/src/store/sqlite.js';
import { viewedRun } from '../test/fixtures/viewed-runs.ts';
import { browserPath } from './setup/browser.mjs';
import { benchPage } from './bench-benchmark/page.mjs';
import { eventsToPixels } from './viewer/live.mjs';
import { serve } from './viewer/serve.mjs';

/** A run over 1 MB is read in a thread of its own. */
const SHAPES = [
  { candidates: 8, steps: 60, tests: 20 },
  { candidates: 26, steps: 300, tests: 40 },
];
const ROUNDS = 7;

const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-viewer-'));
const path = join(folder, 'store.sqlite');
const runs = await fill(path);
const service = await serve(path);
const browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
try {
  for (const run of runs) await report(run);
  const delays = await eventsToPixels(browser);
  const share = (of) => Math.round(delays[Math.floor(of * (delays.length - 1))]);
  console.log(
    `event to pixel, 20 a second ${share(0.5)} ms, 95% within ${share(0.95)} ms, all within ${share(1)} ms (aim 300)`,
  );
  await benchPage(false);
  sizes();
} finally {
  await browser.close();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function fill(file) {
  const store = await openSqliteStore(file);
  const made = [];
  for (const shape of SHAPES) {
    const { request, result } = viewedRun(shape);
    const { run } = await store.runs.create(`${shape.candidates}`, request);
    await store.runs.update(run.id, { status: 'done', result });
    made.push({ id: run.id, shape, megabytes: JSON.stringify(result).length / 1e6 });
  }
  await store.close();
  return made;
}

async function report({ id, shape: { candidates, steps }, megabytes }) {
  const first = await look(id);
  const looks = [];
  for (let round = 0; round < ROUNDS; round += 1) looks.push(await look(id));
  const median = (name) => looks.map((each) => each[name]).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  console.log(
    `run of ${candidates} candidates x ${steps} steps, ${megabytes.toFixed(1)} MB stored; median of ${ROUNDS}`,
  );
  console.log(`first look                  ${Math.round(first.interactive)} ms`);
  console.log(`evidence answered           ${Math.round(median('evidence'))} ms`);
  console.log(`interactive                 ${Math.round(median('interactive'))} ms (aim 450)`);
  console.log(`trajectory after the click  ${Math.round(median('trajectory'))} ms`);
}

async function look(id) {
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
    `script and style            ${sum((body) => body.length)} kB (aim 150), ${sum((body) => gzipSync(body).length)} kB packed`,
  );
}
