import { OWNER } from '../../../src/sandbox/container/sandbox-owner.js';
import { go, sh, spec } from '../../fixtures/sandbox-commands.js';
import { kubernetesSandbox } from './kubernetes-harness.js';

// A process that opens a sandbox, says whose it is, and waits to be killed.
const session = await kubernetesSandbox().open(spec, go);
process.stdout.write(`${OWNER}\n`);
await sh(session, 'sleep 600', 600);
