import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { settingsDesk } from '../../../src/app/config.js';
import { Settings } from '../../../src/app/settings.js';
import { registerInit } from '../../../src/commands/init.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bestk-init-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function init(file: string): Promise<void> {
  const program = new Command();
  registerInit(program, () => Promise.resolve(settingsDesk()));
  await program.parseAsync(['node', 'bestk', 'init', file]);
}

describe('bestk init', () => {
  it('writes every setting with what it means, which is good as it stands and with every default set', async () => {
    const file = join(folder, 'bestk.env');
    await init(file);
    const text = readFileSync(file, 'utf8');
    for (const name of Object.keys(Settings.shape)) expect(text).toMatch(new RegExp(`^# .+\\n#${name}=`, 'm'));
    await init(file);
    expect(readFileSync(file, 'utf8')).toBe(text);
    writeFileSync(file, text.replaceAll(/^#(BESTK_\w+=.+)/gm, '$1'));
    await init(file);
  });

  it.each([
    ['BESTK_LLM_CONCURRENCY=none', 'BESTK_LLM_CONCURRENCY'],
    ['BESTK_RATE_LIMIT=5', 'field "BESTK_RATE_LIMIT"'],
    ['# fine\nBESTK_LLM_CONCURRENCY 5', 'line 2'],
  ])('says what is wrong with %j', async (text, named) => {
    const file = join(folder, 'own.env');
    writeFileSync(file, text);
    await expect(init(file)).rejects.toThrow(named);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});
