import { instancePrompt } from '../../../../src/agent/loop/conversation.js';
import { ACTION_FORMATS } from '../../../../src/agent/call-formats/formats.js';
import { pause } from '../../../../src/core/async/time.js';
import { AgentLimits } from '../../../../src/core/run/agent.js';
import { type Issue } from '../../../../src/core/run/issue.js';
import type { BaseFacts } from '../../../../src/core/run/rollout.js';
import { MarkdownPromptLibrary } from '../../../../src/models/prompts/prompt-library.js';
import type { ResultStore } from '../../../../src/ports/result-store.js';
import { createBaseLook } from '../../../../verifiers/index.js';
import { MemoryResultStore } from '../../../fakes/memory-result-store.js';
import { calculatorIssue } from '../../../fixtures/calculator.js';
import { DockerSandbox } from '../../../../src/sandbox/docker/sandbox.js';
import { dockerSandbox, go, limits } from '../../sandbox/docker-harness.js';

const sandbox = dockerSandbox();
afterAll(() => sandbox.closeAll());

const FAILING = `diff --git a/tests/test_other.py b/tests/test_other.py
new file mode 100644
--- /dev/null
+++ b/tests/test_other.py
@@ -0,0 +1,4 @@
+from calc import add
+
+def test_add_of_other(): assert add(1, 1) == 2
+def test_zero(): assert add(0, 0) == 0
`;

function issueWith(environment: Partial<Issue['environment']>, problem_statement = 'It is wrong.'): Issue {
  return { ...calculatorIssue, problem_statement, environment: { ...calculatorIssue.environment, ...environment } };
}

const nonce = (): string => Array.from({ length: 48 }, () => Math.floor(Math.random() * 36).toString(36)).join('');

const look = (issue: Issue, results: ResultStore = new MemoryResultStore()): Promise<BaseFacts> =>
  createBaseLook({ sandbox, results, nonce, pause })(issue, go);

/** An engine that gives no container. */
class Closed extends DockerSandbox {
  override open(): Promise<never> {
    return Promise.reject(new Error('A container was opened.'));
  }
}

/** What an agent is told of it. */
async function toldOf(facts: BaseFacts): Promise<string> {
  const task = { issue: calculatorIssue, facts };
  const settings = { limits: AgentLimits.parse({}) };
  const messages = await instancePrompt(new MarkdownPromptLibrary(), ACTION_FORMATS.bash, task, settings);
  return /What is known already:\n([^]*?)\n\n/.exec(messages.at(-1)?.content ?? '')?.[1] ?? '';
}

it('an agent is told how Python is called, and that the named tests pass before any change', async () => {
  const facts = await look(calculatorIssue);
  expect(facts.interpreters).toContain('python3');
  expect(facts.tests).toMatchObject({ failed: [] });
  const told = await toldOf({ ...facts, interpreters: ['python3'] });
  expect(told).toContain('- Python is called `python3`; there is no `python`.\n- Before any change, all of the');
  expect(told).toContain("(`python3 -m pytest -q 'tests/test_calc.py'`) pass.");
  expect(await toldOf({ interpreters: ['python', 'python3'], tests: null })).toBe('');
});

it('of tests nearest to the issue it is told which fail, where the issue names none', async () => {
  const environment = { regression_command: null, regression_files: [], setup_patch: FAILING };
  const facts = await look(issueWith(environment, 'With `calc.add` the result of add(1, 1) is 0.'));
  expect(facts.tests?.failed.join()).toMatch(/test_other.*test_add_of_other/);
  expect(facts.tests?.ran).toBeGreaterThanOrEqual(2);
  expect(await toldOf(facts)).toMatch(
    /Before any change, 1 of the \d existing tests nearest to the issue .*fail, with or without your work: .*test_add_of_other/,
  );
});

it('is looked for once, for all who ask', async () => {
  const results = new MemoryResultStore();
  const issue = issueWith({});
  const lookAt = createBaseLook({ sandbox, results, nonce, pause });
  const [one, two] = await Promise.all([lookAt(issue, go), lookAt(issue, go)]);
  expect(two).toEqual(one);
  expect(
    await createBaseLook({ sandbox: new Closed({ concurrency: 1, limits, ttlS: 600 }), results, nonce, pause })(
      issue,
      go,
    ),
  ).toEqual(one);
});

it('tells nothing of tests that nobody knows how to run, or that do not end by themselves', async () => {
  const slow = { regression_command: 'sleep 100; python3 -m pytest -q {files}', test_timeout_s: 1 };
  expect((await look(issueWith(slow))).tests).toBeNull();
  const unknown = issueWith({ regression_command: null, regression_files: [] }, 'It is wrong.');
  expect((await look(unknown)).tests).toBeNull();
});
