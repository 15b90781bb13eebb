import { KUBECONFIG } from './kubernetes-harness.js';

/** `describe` on a cluster; skipped in so many words where there is none. */
export const describeOnCluster: (name: string, tests: () => void) => void =
  KUBECONFIG === undefined
    ? (name) => {
        describe.skip(`${name} (SKIPPED: no cluster, see npm run test:k8s)`, () => {
          it('needs BESTK_TEST_KUBECONFIG', () => undefined);
        });
      }
    : describe;
