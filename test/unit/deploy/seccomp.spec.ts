import { readFileSync } from 'node:fs';
import { SECCOMP_PROFILE } from '../../../src/sandbox/docker/limits.js';

it('the profile for the nodes of a cluster is the one that Docker’s containers get', () => {
  expect(JSON.parse(readFileSync('deploy/seccomp.json', 'utf8'))).toEqual(SECCOMP_PROFILE);
});

it('names each call once', () => {
  const [{ names }] = SECCOMP_PROFILE.syscalls as unknown as [{ names: string[] }];
  expect(names).toHaveLength(new Set(names).size);
});
