import { spawnSync } from 'node:child_process';

function setUp(goal: string, dockerHost: string): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs', goal], {
    encoding: 'utf8',
    env: { ...process.env, DOCKER_HOST: dockerHost },
  });
  return { status, stdout, stderr };
}

describe('scripts/setup.mjs', () => {
  it.each([
    ['a socket that is not there', 'unix:///nonexistent/docker.sock', 'ENOENT'],
    ['a port nobody listens on', 'tcp://127.0.0.1:1', 'ECONNREFUSED'],
    ['a transport it cannot ask over', 'ssh://somewhere', 'not supported'],
  ])('refuses %s with what it tried and what to do', (_, dockerHost, fault) => {
    const { status, stdout, stderr } = setUp('test', dockerHost);
    expect(status).toBe(3);
    expect(stdout).toBe('');
    expect(stderr).toContain(`GET /_ping at ${dockerHost}`);
    expect(stderr).toContain(fault);
    expect(stderr).toContain('unset DOCKER_HOST');
  });

  it('names its goals when given another', () => {
    const { status, stderr } = setUp('everything', '');
    expect(status).toBe(2);
    expect(stderr).toContain('quickstart|bench-example|test|all-tests|faults|build');
  });
});
