import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { podsOf, type ClusterOptions, PodTemplate } from '../../../src/sandbox/kubernetes/pod-spec.js';
import { KubernetesSandbox, type KubernetesSandboxOptions } from '../../../src/sandbox/kubernetes/sandbox.js';
import type { EngineHarness } from '../../contracts/engine-harness.js';
import { limits } from '../../fixtures/sandbox-commands.js';

/** Set by `npm run test:k8s`; without it there is no cluster to test on. */
export const KUBECONFIG = process.env['BESTK_TEST_KUBECONFIG'];
export const NAMESPACE = 'bestk-test';

export const cluster: ClusterOptions = {
  kubeconfig: KUBECONFIG,
  namespace: NAMESPACE,
  pod: podWith({ resources: { requests: { cpu: '0.1' } } }),
  startS: 60,
};

/** A template for images that are on the node already. */
export function podWith(template: object): PodTemplate {
  return PodTemplate.parse({ imagePullPolicy: 'Never', ...template });
}

export function kubernetesSandbox(
  options: Partial<Omit<KubernetesSandboxOptions, 'cluster'>> & { cluster?: Partial<ClusterOptions> } = {},
): KubernetesSandbox {
  return new KubernetesSandbox({
    concurrency: 4,
    limits,
    ttlS: 600,
    ...options,
    cluster: { ...cluster, ...options.cluster },
  });
}

const WHERE = ['--kubeconfig', KUBECONFIG ?? '', '-n', NAMESPACE];

/** What kubectl says. */
export function kubectl({ input }: { readonly input?: string }, ...args: readonly string[]): string {
  return execFileSync('kubectl', [...WHERE, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
    ...(input === undefined ? {} : { input }),
  });
}

/** The same, while this process goes on with what it does. */
export async function kubectlBeside(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('kubectl', [...WHERE, ...args], { encoding: 'utf8' })).stdout;
}

/** Names of the pods this process made and that are still there. */
export function podNames(selector: string = podsOf()): string[] {
  return kubectl({}, 'get', 'pods', '-l', selector, '-o', 'name').split('\n').filter(Boolean);
}

export const harness: EngineHarness = {
  makeSandbox: (options) => kubernetesSandbox(options),
  leftovers: () => Promise.resolve(podNames()),
};
