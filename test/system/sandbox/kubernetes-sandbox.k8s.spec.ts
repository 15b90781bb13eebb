import { containerContract } from '../../contracts/container.contract.js';
import { sandboxContract } from '../../contracts/sandbox.contract.js';
import { FIXTURE_COMMIT, FIXTURE_IMAGE, FIXTURE_WORKDIR } from '../../fixtures/fixture-image.js';
import { describeOnCluster } from './describe-on-cluster.js';
import { harness, kubernetesSandbox } from './kubernetes-harness.js';

describeOnCluster('on a cluster', () => {
  sandboxContract('KubernetesSandbox', () => ({
    sandbox: kubernetesSandbox(),
    image: FIXTURE_IMAGE,
    workdir: FIXTURE_WORKDIR,
    commit: FIXTURE_COMMIT,
  }));

  containerContract('Kubernetes', harness);
});
