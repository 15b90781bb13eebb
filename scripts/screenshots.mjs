// `npm run screenshots`: the pictures of the README, from the run that `npm run quickstart` made: anyone can make them again.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { browserPath } from './setup/browser.mjs';
import { serve } from './viewer/serve.mjs';

const STORE = 'bestk-out/quickstart/store.sqlite';
const FOLDER = 'docs/images';
const SIZE = { width: 1200, height: 880 };

if (!existsSync(STORE)) {
  console.error('screenshots needs the store of a finished `npm run quickstart`');
  process.exit(3);
}
const service = await serve(STORE);
const browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
try {
  const { runs } = await (await fetch(`${service.url}/v1/runs?status=done&sort=created&limit=1`)).json();
  await take('run.png', 'light', 'rollout-2', async (page) => {
    await page.locator('.diff tr').first().waitFor();
    await page.setViewportSize({ ...SIZE, height: 1_200 });
    await page.screenshot({ path: `${FOLDER}/run.png` });
  });
  await take('matrix.png', 'dark', 'rollout-2', async (page) => {
    await page.locator('.diff tr').first().waitFor();
    await page.locator('[data-place="1 3"]').click();
    await page.locator('.cell-panel .log').waitFor();
    await page.locator('section[aria-labelledby="matrix-title"]').screenshot({ path: `${FOLDER}/matrix.png` });
  });

  async function take(name, colorScheme, candidate, picture) {
    const page = await browser.newPage({ viewport: SIZE, colorScheme, reducedMotion: 'reduce' });
    await page.goto(`${service.url}/#/runs/${runs[0].id}/candidates/${candidate}`);
    await picture(page);
    await page.close();
    console.log(`${FOLDER}/${name}`);
  }
} finally {
  await browser.close();
  await service.stop();
}
