import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify, parse } from 'yaml';
import { SECCOMP_PROFILE, SECCOMP_PROFILE_PATH } from '../../../src/sandbox/container/seccomp-profile.js';
import { HOME } from '../../fixtures/cluster-processes.js';
import { FOLDER, manifests } from '../../fixtures/deployment.js';
import { until } from '../../fixtures/run-world.js';
import { go, sh, spec } from '../../fixtures/sandbox-commands.js';
import { describeOnCluster } from './describe-on-cluster.js';
import { KUBECONFIG, kubectl, kubernetesSandbox } from './kubernetes-harness.js';

const NAMESPACE = 'bestk';
/** Namespace of what runs on every node with access to its folders. */
const NODES = 'bestk-nodes';

const apply = (file: string, ...more: string[]): string =>
  kubectl({}, '-n', file === 'seccomp.yaml' ? NODES : NAMESPACE, 'apply', '-f', join(FOLDER, file), ...more);

interface Kubeconfig {
  users: { name: string; user: object }[];
}

/** A kubeconfig of the service account, which has the rights of rbac.yaml and no other. */
function accountConfig(): string {
  const secrets = JSON.parse(kubectl({}, '-n', NAMESPACE, 'get', 'secrets', '-o', 'json')) as {
    items: { metadata: { annotations?: Record<string, string> }; data: Record<string, string> }[];
  };
  const own = secrets.items.find(
    ({ metadata }) => metadata.annotations?.['kubernetes.io/service-account.name'] === 'bestk',
  );
  const token = Buffer.from(own?.data['token'] ?? '', 'base64').toString();
  const config = parse(readFileSync(KUBECONFIG ?? '', 'utf8')) as Kubeconfig;
  const file = join(mkdtempSync(join(tmpdir(), 'bestk-account-')), 'config');
  writeFileSync(file, stringify({ ...config, users: config.users.map(({ name }) => ({ name, user: { token } })) }));
  return file;
}

describeOnCluster('deploy/kubernetes', () => {
  beforeAll(async () => {
    apply('namespace.yaml');
    kubectl({}, 'create', 'namespace', NODES);
    for (let tries = 0; tries < 40; tries += 1) {
      if (kubectl({}, '-n', NAMESPACE, 'get', 'serviceaccounts', '-o', 'name') !== '') return;
      await sleep(250);
    }
  });

  afterAll(() => {
    kubectl({}, 'delete', 'namespace', NAMESPACE, NODES);
  });

  it.each(readdirSync(FOLDER))('%s is what the API server takes', (file) => {
    expect(apply(file, '--dry-run=server', '--validate=true')).toMatch(/\(server dry run\)/);
  });

  it('gives an account that can do all that sandboxes need, and nothing else', async () => {
    for (const file of ['rbac.yaml', 'network-policy.yaml']) apply(file);
    await sleep(1_000);
    const warnings: string[] = [];
    const sandbox = kubernetesSandbox({
      warn: (text) => warnings.push(text),
      cluster: { kubeconfig: accountConfig(), namespace: NAMESPACE },
    });
    const { id } = await sandbox.describeImage(spec.image, go);
    const session = await sandbox.open({ ...spec, image: id }, go);
    await session.writeFiles([{ path: '/data/a', content: 'seen' }], go);
    expect(await sh(session, 'cat /data/a')).toMatchObject({ kind: 'exited', exitCode: 0, stdout: 'seen' });
    expect(Buffer.from((await session.readFile('/data/a', 9, go)) ?? []).toString()).toBe('seen');
    await session.close();
    expect(await sandbox.sweep()).toBe(0);
    expect(warnings).toEqual([expect.stringContaining('does not enforce')]);
    await sandbox.closeAll();
    const may = (...what: string[]): string =>
      kubectl(
        {},
        '-n',
        NAMESPACE,
        'auth',
        'can-i',
        ...what,
        '--as',
        `system:serviceaccount:${NAMESPACE}:bestk`,
        '-q',
      ).trim();
    expect(may('create', 'pods')).toBe('');
    for (const what of [
      ['get', 'secrets'],
      ['list', 'nodes'],
      ['create', 'pods', '-n', 'default'],
      ['get', 'pods/log'],
    ]) {
      expect(() => may(...what)).toThrow();
    }
  });

  it('puts the seccomp profile on every node', async () => {
    const file = join(HOME, 'kubelet/seccomp', SECCOMP_PROFILE_PATH);
    rmSync(file);
    for (const manifest of manifests('seccomp.yaml')) {
      kubectl({ input: JSON.stringify(manifest) }, '-n', NODES, 'apply', '-f', '-');
    }
    await until(() => existsSync(file));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(SECCOMP_PROFILE);
  }, 60_000);

  it('pulls the images to every node', async () => {
    const [prePull] = manifests('pre-pull.yaml');
    kubectl({ input: JSON.stringify(prePull) }, '-n', NAMESPACE, 'apply', '-f', '-');
    const ready = (): string =>
      kubectl({}, '-n', NAMESPACE, 'get', 'daemonset', 'bestk-pre-pull', '-o', 'jsonpath={.status.numberReady}');
    for (let tries = 0; ready() !== '1' && tries < 60; tries += 1) await sleep(500);
    expect(ready()).toBe('1');
  });
});
