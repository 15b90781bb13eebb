import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../fixtures/run-world.js';

describe('scripts/kubernetes/processes.mjs', () => {
  const home = mkdtempSync(join(tmpdir(), 'bestk-cluster-'));
  mkdirSync(join(home, 'run'));
  mkdirSync(join(home, 'logs'));
  const pidFile = join(home, 'run/kubelet.pid');
  const act = (verb: string): number | null =>
    spawnSync(process.execPath, ['scripts/kubernetes/processes.mjs', verb, 'kubelet'], {
      env: { ...process.env, K8S_HOME: home },
    }).status;
  const pid = (): number => Number(readFileSync(pidFile, 'utf8'));
  const stateOf = (id: number): string | undefined =>
    /^State:\s+(\w)/m.exec(readFileSync(`/proc/${String(id)}/status`, 'utf8'))?.[1];

  afterAll(() => act('kill'));

  it('starts the program again, not what launched it and was still at it', () => {
    const launched = spawn('bash', ['-c', 'sleep 1; exec sleep 600'], { stdio: 'ignore' });
    writeFileSync(pidFile, String(launched.pid));
    expect(act('restart')).toBe(0);
    expect(pid()).not.toBe(launched.pid);
    expect(readFileSync(`/proc/${String(pid())}/cmdline`, 'utf8')).toBe('sleep\x00600\x00');
  });

  it('stops it and lets it go on', async () => {
    expect(act('stop')).toBe(0);
    await until(() => stateOf(pid()) === 'T');
    expect(act('continue')).toBe(0);
    await until(() => stateOf(pid()) === 'S');
  });
});
