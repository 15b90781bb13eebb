import { spawnSync } from 'node:child_process';

it('leaves a program that a link to it can be run as', () => {
  const { status, stdout } = spawnSync('dist/src/cli.js', ['--version'], { encoding: 'utf8' });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
  expect(status).toBe(0);
});
