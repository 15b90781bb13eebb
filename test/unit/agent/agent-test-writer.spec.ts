import { FORMAT_NAMES, ACTION_FORMATS } from '../../../src/agent/call-formats/formats.js';
import { instancePrompt } from '../../../src/agent/loop/conversation.js';
import { AgentLimits } from '../../../src/agent/loop/rollout-task.js';
import { writtenIn } from '../../../src/agent/loop/test-writer.js';
import { MarkdownPromptLibrary } from '../../../src/models/prompts/prompt-library.js';
import { calculatorIssue } from '../../fixtures/calculator.js';

const added = (path: string, ...lines: readonly string[]): string =>
  `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n` +
  lines.map((line) => `+${line}\n`).join('');

describe('the tests of an agent', () => {
  it('are the scripts that it left in their folder, whole', () => {
    const patch = added('bestk_tests/test_1.py', 'import sys', '', '+x', 'sys.exit(2)');
    expect(writtenIn(patch, 'i')).toEqual([
      {
        instance_id: 'i',
        test_id: 'test_1',
        path: 'test_1.py',
        content: 'import sys\n\n+x\nsys.exit(2)\n',
        author: 'agent',
      },
    ]);
  });

  it.each([
    ['a file elsewhere', added('test_1.py', 'x')],
    ['one in a folder below', added('bestk_tests/a/test_1.py', 'x')],
    ['one of another language', added('bestk_tests/notes.md', 'x')],
    ['an empty one', added('bestk_tests/test_1.py', ' ')],
    ['a change of the source', 'diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n'],
    ['nothing', ''],
    ['what is no patch', 'nonsense'],
  ])('are not %s', (_name, patch) => {
    expect(writtenIn(patch, 'i')).toEqual([]);
  });
});

it.each(FORMAT_NAMES)('is told in %s to write tests, and nowhere to change the source', async (name) => {
  const asked = { prompt: 'agent/test-author', count: 3 } as const;
  const settings = { limits: AgentLimits.parse({}), asked };
  const prompts = new MarkdownPromptLibrary();
  const messages = await instancePrompt(prompts, ACTION_FORMATS[name], { issue: calculatorIssue }, settings);
  const system = messages[0]?.content ?? '';
  expect(system).toContain('You write tests for a repository');
  expect(system).not.toMatch(/change the source|check your change/);
});
