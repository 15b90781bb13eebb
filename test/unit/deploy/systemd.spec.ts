import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Settings } from '../../../src/app/settings.js';

const UNITS = ['bestk.service', 'bestk-worker@.service'];
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

function unit(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../../deploy/systemd', name), 'utf8');
}

function value(text: string, key: string): string {
  return new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1] ?? '';
}

describe.each(UNITS)('%s', (name) => {
  const text = unit(name);

  it('runs a command of bestk, as nobody in particular, with its settings from a file', () => {
    expect(value(text, 'ExecStart')).toMatch(/^\/usr\/local\/bin\/bestk (serve|worker --port 909%i)$/);
    expect(value(text, 'User')).toBe('bestk');
    expect(value(text, 'EnvironmentFile')).toMatch(/^-?\/etc\/bestk\/bestk\.env$/);
  });

  it('gives it the time that stopping takes at most', () => {
    const { BESTK_DRAIN_S, BESTK_SHUTDOWN_S } = Settings.parse({});
    expect(Number(value(text, 'TimeoutStopSec'))).toBeGreaterThan(BESTK_DRAIN_S + BESTK_SHUTDOWN_S);
  });

  (hasSystemd ? it : it.skip)('is accepted by systemd', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bestk-unit-'));
    const path = join(folder, name.replace('@', '@1'));
    // systemd also looks for the program, which is not installed here.
    const verify = (content: string): string => {
      writeFileSync(path, content.replaceAll('/usr/local/bin/bestk', process.execPath));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
      return `${status} ${stderr}`;
    };
    expect(verify(text)).toBe('0 ');
    expect(verify(text.replace('Type=exec', 'Tipe=exec'))).toMatch(/Unknown key\b.*'Tipe'/);
  });
});
