import { OWNER } from '../../../src/sandbox/container/sandbox-owner.js';
import { dockerSandbox, go, sh, spec } from './docker-harness.js';

// A process that opens a sandbox, says whose it is, and waits to be killed.
const session = await dockerSandbox().open(spec, go);
process.stdout.write(`${OWNER}\n`);
await sh(session, 'sleep 600', 600);
