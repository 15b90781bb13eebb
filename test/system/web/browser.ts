import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** The machine's own Chromium; `npm test` installs it. */
export async function openBrowser(): Promise<Browser> {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const executablePath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (executablePath === undefined) throw new Error('No Chromium: node scripts/setup.mjs test installs one.');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** A page that notes what must never happen on it. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors, refusals of the content security policy, dialogs, and requests to anywhere but the service. */
  readonly wrongs: string[];
}

export interface Look {
  readonly width?: number;
  readonly scheme?: 'light' | 'dark';
}

/** @param url of the service: requests to anywhere else are noted */
export async function openPage(
  browser: Browser,
  url: string,
  { width = 1280, scheme = 'light' }: Look = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: scheme });
  const page = await context.newPage();
  // Below jest's own limit, so that a failure says what was waited for.
  page.setDefaultTimeout(60_000);
  const wrongs: string[] = [];
  page.on('pageerror', (error) => wrongs.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // Chromium logs every answer of 400 and more; what the page makes of those is tested by itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      wrongs.push(message.text());
  });
  page.on('dialog', (dialog) => {
    wrongs.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${url}/`)) wrongs.push(request.url());
  });
  return { page, context, wrongs };
}
