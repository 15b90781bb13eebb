import type { GeneratedTest, TestWriter } from '../../core/run/generated-test.js';
import { readPatch } from '../../core/patch/patch.js';
import { FOLDER } from './author-scripts.js';
import { rollout } from './rollout.js';
import type { AgentTools } from './rollout-task.js';
import { WarmStart } from '../../core/async/concurrency.js';

const LONGEST = 50_000;

/**
 * The sampling agent as a test author (DeepSWE's execution-based verifier): with the same tools, in a container of its
 * own, it writes scripts, runs them on base and mends them. Its tests are the new files that it leaves in one folder; what
 * else it changed is nobody's.
 * @param tools with the test author's settings; `settings.prompt` is its prompt
 */
export function createAgentTestWriter(tools: AgentTools): Pick<TestWriter, 'write'> {
  return {
    write: async (issue, signal) => {
      const task = {
        issue,
        candidateId: 'test-author',
        sample: 0,
        warm: new WarmStart(),
        stopAt: null,
        onStep: () => Promise.resolve(),
        onKnown: () => Promise.resolve(),
      };
      const { patch, patch_problem: problem } = await rollout(tools, task, signal);
      const tests = problem === null ? writtenIn(patch, issue.instance_id) : [];
      return { tests, unreadable: tests.length === 0 ? 1 : 0 };
    },
  };
}

/** The scripts that a patch adds to the folder, by name. */
export function writtenIn(patch: string, instance_id: string): readonly GeneratedTest[] {
  const parsed = readPatch(patch);
  if (parsed.kind !== 'ok') return [];
  return parsed.files.flatMap(({ path, parsed: { oldFileName, hunks } }) => {
    if (oldFileName !== '/dev/null' || !path.startsWith(FOLDER) || !path.endsWith('.py')) return [];
    const lines = hunks.flatMap((hunk) => hunk.lines).filter((line) => line.startsWith('+'));
    const content = lines.map((line) => `${line.slice(1)}\n`).join('');
    const test_id = path.slice(FOLDER.length).replace(/\.py$/, '');
    if (content.length > LONGEST || content.trim() === '' || test_id.includes('/')) return [];
    return [{ instance_id, test_id, path: `${test_id}.py`, content, author: 'agent' }];
  });
}
