// `npm run test:k8s [-- jest arguments]`: the contract suite, the attacks, the faults, the manifests and `select` on a real
// issue, on a real cluster. Skips loudly where there is none.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildImages, present } from './e2e-real/data.mjs';
import { bringUp, needCluster } from './kubernetes/cluster.mjs';
import { setUpOrExit } from './setup.mjs';
import { buildService } from './setup/images.mjs';

const FIXTURE = 'bestk/fixture:1';
const SERVICE = 'bestk/service:k8s';
const ISSUE = 'sympy__sympy-24066';
const ISSUE_IMAGE = 'bestk-real/sympy:1.11';
/** Real tests have time limits: a sandbox gets all the CPU it may use, and the others wait for a node. */
const WHOLE_CORES = {
  BESTK_KUBERNETES_POD: '{imagePullPolicy: Never, resources: {requests: {cpu: 1, memory: 256Mi}}}',
};

needCluster('test:k8s');
await setUpOrExit('test');
await buildService(fileURLToPath(new URL('..', import.meta.url)), SERVICE);
const isReal = present() && buildImages();
const asked = process.argv.slice(2);
const { environment, down } = await bringUp([FIXTURE, SERVICE, ...(isReal ? [ISSUE_IMAGE] : [])]);
const env = { ...process.env, ...environment };
const failed = [];
try {
  const jest = ['--no-warnings', 'node_modules/jest/bin/jest.js', '-w', '1'];
  run('tests', [...jest, ...(asked.length > 0 ? asked : ['\\.k8s\\.spec\\.ts$'])]);
  if (asked.length > 0) console.log('');
  else if (isReal) run(`select on ${ISSUE}`, ['scripts/e2e-real.mjs', ISSUE], WHOLE_CORES);
  else console.log(`SKIPPED select on ${ISSUE}: no real issues here`);
} finally {
  down();
}
for (const what of failed) console.log(`FAILED ${what}`);
process.exit(failed.length === 0 ? 0 : 1);

function run(what, args, more = {}) {
  if (spawnSync(process.execPath, args, { stdio: 'inherit', env: { ...env, ...more } }).status !== 0) failed.push(what);
}
