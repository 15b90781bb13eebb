import { hostileCommandsContract } from '../../contracts/hostile-commands.contract.js';
import { testsUserContract } from '../../contracts/tests-user.contract.js';
import { describeOnCluster } from './describe-on-cluster.js';
import { harness } from './kubernetes-harness.js';

describeOnCluster('on a cluster', () => {
  hostileCommandsContract('Kubernetes', harness);
  testsUserContract('Kubernetes', harness);
});
