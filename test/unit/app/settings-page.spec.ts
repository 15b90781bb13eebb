import { readFileSync } from 'node:fs';
import { settingsPage } from '../../../scripts/settings-page.mjs';
import { Settings } from '../../../src/app/settings.js';

it('docs/settings.md has every setting with its default, as `npm run settings` writes it', () => {
  expect(settingsPage(Settings)).toBe(readFileSync('docs/settings.md', 'utf8'));
});

it('every setting says what it does', () => {
  const silent = Object.entries(Settings.shape).filter(([, schema]) => schema.description === undefined);
  expect(silent.map(([name]) => name)).toEqual([]);
});
