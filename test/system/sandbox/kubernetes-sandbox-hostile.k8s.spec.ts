import { hostileCommandsContract } from '../../contracts/hostile-commands.contract.js';
import { describeOnCluster } from './describe-on-cluster.js';
import { harness } from './kubernetes-harness.js';

describeOnCluster('on a cluster', () => {
  hostileCommandsContract('Kubernetes', harness);
});
