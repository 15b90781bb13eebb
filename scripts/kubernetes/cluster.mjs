// The one-node cluster that tests and benchmarks run on. Its tool is no part of this repository: `up`, `images`, `down`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { SHARED } from '../e2e-real/data.mjs';
import { HOME, restart } from './processes.mjs';

const TOOL = process.env.BESTK_CLUSTER_TOOL ?? resolve(SHARED, 'kubernetes/cluster.sh');
const KUBECONFIG = resolve(HOME, 'kubeconfig');
const KUBELET = resolve(HOME, 'kubelet/config.yaml');
const NAMESPACE = 'bestk-test';

/**
 * What docs/kubernetes.md asks of every node. The gate is for nodes before 1.22, which would not bound /tmp.
 */
const NODE_SETTINGS = 'podPidsLimit: 100\nfeatureGates: {SizeMemoryBackedVolumes: true}\n';

/**
 * Ends the process where there is no cluster, and says why: with 0, or with 1 when BESTK_TEST_K8S=1 wants one in so many
 * words. Then one whose binaries are not there is built.
 */
export function needCluster(who) {
  const isWanted = process.env.BESTK_TEST_K8S === '1';
  const why = !existsSync(TOOL)
    ? `there is no ${TOOL} to start a cluster with (BESTK_CLUSTER_TOOL)`
    : isBuilt() || isWanted
      ? null
      : `the cluster's binaries are not in ${HOME} (K8S_HOME); BESTK_TEST_K8S=1 builds them`;
  if (why === null) return;
  console.log(`${isWanted ? 'FAILED' : 'SKIPPED'} ${who}: ${why}`);
  process.exit(isWanted ? 1 : 0);
}

function isBuilt() {
  return existsSync(resolve(HOME, 'bin/kubelet'));
}

/** Arguments with which kubectl works in the tests' namespace. */
export function kubectlArguments(...args) {
  return ['--kubeconfig', KUBECONFIG, '-n', NAMESPACE, ...args];
}

function kubectl(...args) {
  return said('kubectl', '--kubeconfig', KUBECONFIG, ...args);
}

function said(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Starts the cluster if it is not running, with these images. Returns how to put things back. */
export async function bringUp(images) {
  const wasUp = isUp();
  if (!wasUp) {
    if (!isBuilt()) tool('build');
    tool('up');
  }
  await prepareNode();
  const missing = images.filter(isMissing);
  if (missing.length > 0) tool('images', ...missing);
  if (!kubectl('get', 'namespaces', '-o', 'name').includes(`/${NAMESPACE}\n`))
    kubectl('create', 'namespace', NAMESPACE);
  return {
    environment: environment(),
    down: () => {
      if (!wasUp) tool('down');
    },
  };
}

/** Settings with which bestk uses the cluster. */
function environment() {
  return {
    BESTK_SANDBOX: 'kubernetes',
    BESTK_TEST_KUBECONFIG: KUBECONFIG,
    KUBECONFIG,
    BESTK_KUBERNETES_NAMESPACE: NAMESPACE,
    BESTK_KUBERNETES_POD: '{imagePullPolicy: Never, resources: {requests: {cpu: 0.1, memory: 256Mi}}}',
  };
}

async function prepareNode() {
  installSeccompProfile();
  const settings = readFileSync(KUBELET, 'utf8');
  if (!settings.includes('podPidsLimit')) {
    writeFileSync(KUBELET, settings + NODE_SETTINGS);
    await restart('kubelet');
    await sleep(2_000);
  }
  for (let tries = 0; tries < 60; tries += 1) {
    const [node] = JSON.parse(kubectl('get', 'nodes', '-o', 'json')).items;
    if (node?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) return;
    await sleep(500);
  }
  throw new Error('the node does not become ready');
}

/** As the DaemonSet of deploy/kubernetes/seccomp.yaml does it. */
function installSeccompProfile() {
  const [, { data }] = parseAllDocuments(readFileSync('deploy/kubernetes/seccomp.yaml', 'utf8')).map((each) =>
    each.toJS(),
  );
  const folder = resolve(HOME, 'kubelet/seccomp/bestk');
  mkdirSync(folder, { recursive: true });
  for (const [name, profile] of Object.entries(data)) writeFileSync(resolve(folder, name), profile);
}

/** Whether the node lacks an image, or has another of that name. */
function isMissing(image) {
  const id = said('docker', 'image', 'inspect', '-f', '{{.Id}}', image).trim();
  const onNode = ['-a', resolve(HOME, 'run/containerd.sock'), '-n', 'k8s.io'];
  const names = said('ctr', ...onNode, 'images', 'ls', '-q').split('\n');
  return !names.includes(`docker.io/${image}`) || !said('ctr', ...onNode, 'content', 'ls', '-q').includes(id);
}

function isUp() {
  try {
    kubectl('get', '--raw', '/readyz');
    return true;
  } catch {
    return false;
  }
}

function tool(...args) {
  const { status } = spawnSync('bash', [TOOL, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${TOOL} ${args.join(' ')} ended with ${status}`);
}
