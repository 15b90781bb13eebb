import { LABEL } from '../../../src/sandbox/container/sandbox-owner.js';
import { type SandboxSession } from '../../../src/ports/sandbox.js';
import { containerContract } from '../../contracts/container.contract.js';
import { sandboxContract } from '../../contracts/sandbox.contract.js';
import { FIXTURE_COMMIT, FIXTURE_IMAGE, FIXTURE_WORKDIR } from '../../fixtures/fixture-image.js';
import { containersOf, docker, dockerSandbox, go, limits, sh, spec } from './docker-harness.js';

sandboxContract('DockerSandbox', () => ({
  sandbox: dockerSandbox(),
  image: FIXTURE_IMAGE,
  workdir: FIXTURE_WORKDIR,
  commit: FIXTURE_COMMIT,
}));

containerContract('Docker', { makeSandbox: dockerSandbox, leftovers: () => containersOf() });

describe('DockerSandbox', () => {
  const sandbox = dockerSandbox();
  let session: SandboxSession;

  beforeAll(async () => {
    session = await sandbox.open(spec, go);
  });

  afterAll(async () => {
    await sandbox.closeAll();
    expect(await containersOf()).toEqual([]);
  });

  describe('isolation', () => {
    it('gives no capability, no network, no name and no variable of the host', async () => {
      process.env['BESTK_TEST_SECRET'] = 'host-secret';
      const { stdout } = await sh(
        session,
        'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; hostname; ls /sys/class/net; env; ulimit -c',
      );
      expect(stdout).toMatch(/CapBnd:\s+0{16}\nCapEff|CapEff:\s+0{16}\nCapBnd:\s+0{16}/);
      expect(stdout).toMatch(/NoNewPrivs:\s+1/);
      expect(stdout).toContain('\nsandbox\nlo\n');
      expect(stdout).not.toContain('host-secret');
      expect(stdout.endsWith('\n0\n')).toBe(true);
      delete process.env['BESTK_TEST_SECRET'];
    });

    it('mounts nothing of the host, and bounded memory file systems', async () => {
      const [id = ''] = await containersOf();
      const { HostConfig, Mounts } = await docker.getContainer(id).inspect();
      expect(Mounts).toEqual([]);
      expect(HostConfig).toMatchObject({ Memory: 256 * 2 ** 20, MemorySwap: 256 * 2 ** 20, PidsLimit: limits.pids });
      expect(HostConfig).toMatchObject({ NanoCpus: 1e9, AutoRemove: true, NetworkMode: 'none' });
      const { stdout } = await sh(
        session,
        'df -k /tmp /dev/shm | tail -n 2 | while read -r _ size _; do echo $size; done',
      );
      for (const size of stdout.trim().split('\n')) expect(Number(size)).toBeLessThanOrEqual(64 * 1024);
      expect(await sh(session, 'cp /bin/true /tmp/t && /tmp/t')).toMatchObject({ exitCode: 0 });
    });

    it('says in labels whose container it is, for what, and until when', async () => {
      const [id = ''] = await containersOf();
      const { Labels } = (await docker.getContainer(id).inspect()).Config;
      expect(Labels).toMatchObject({ [LABEL.mark]: '1', [LABEL.purpose]: 'sandbox test' });
      const left = Number(Labels[LABEL.expires]) - Date.now() / 1000;
      expect(left).toBeGreaterThan(500);
      expect(left).toBeLessThan(602);
    });
  });
});
