// Made-up runs of four candidates with three given tests.
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from './load.mjs';

const CANDIDATES = 4;
const TESTS = 3;

/** A request as it is posted. @param {string} name makes it another one @param {readonly string[]} verifiers */
export function runBody(name, verifiers) {
  const candidates = Array.from({ length: CANDIDATES }, (_, n) => ({
    candidate_id: `c${n}`,
    patch: `diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 0\n+a = ${n}  # ${name}${n === 0 ? ' right' : ''}\n`,
    trajectory: {
      steps: Array.from({ length: 5 }, (_, step) => ({
        thought: `Step ${step} of ${name}`,
        action: 'execute_bash: ls',
        observation: 'a.py\n'.repeat(40),
      })),
      exit_reason: 'agent',
    },
  }));
  const tests = Array.from({ length: TESTS }, (_, n) => ({
    test_id: `t${n}`,
    path: `test_${n}.py`,
    content: `assert ${n}  # ${name}`,
  }));
  const issue = { instance_id: `bench__${name}`, problem_statement: 'a is wrong', environment: { image: 'bench:1' } };
  return JSON.stringify({ issue, candidates, tests, verifiers, preset: 'deepswe' });
}

/** Waits until no run is queued or running. @throws when one did not end well */
export async function allDone(url, withinS) {
  const end = performance.now() + withinS * 1000;
  const total = async (statuses) => {
    const { text } = await send(url, { path: `/v1/runs?limit=1&status=${statuses}` });
    // A store that is too busy to answer is asked again.
    return JSON.parse(text).runs ?? [{}];
  };
  while ((await total('queued,running')).length > 0) {
    if (performance.now() > end) throw new Error(`there are runs that did not end within ${withinS} s`);
    await sleep(100);
  }
  const [bad] = await total('failed,cancelled');
  if (bad !== undefined) throw new Error(`run ${bad.id} ended ${bad.status}: ${JSON.stringify(bad.failure)}`);
}
