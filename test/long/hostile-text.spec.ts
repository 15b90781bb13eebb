import { xmlFormat, bashFormat, toolsFormat } from '../../src/agent/call-formats/formats.js';
import { splitThought } from '../../src/agent/tools/action.js';
import { writtenIn } from '../../src/agent/test-writing-agent.js';
import { neutralise } from '../../src/core/hostile-text.js';
import { fingerprint, patchSize, readPatch, splitPatch } from '../../src/core/patch/patch.js';
import { isImageReference, repositoryOf } from '../../src/core/run/issue.js';
import { leaksOf } from '../../src/core/run/candidate.js';
import { imageOf } from '../../src/io/datasets/rows.js';
import { patchIn } from '../../src/http/rewards/reward-bodies.js';
import { patchView } from '../../src/http/runs/evidence-of-run.js';

import { parsePythonList } from '../../src/io/inputs/score-columns.js';
import { flawOf } from '../../src/io/records/records.js';
import { SavedLine } from '../../src/io/saved-runs/saved-records.js';
import { UPLOAD_BOUNDS } from '../../src/io/saved-runs/saved-run.js';
import type { Completion } from '../../src/ports/llm-client.js';
import { readDiff, highlight } from '../../src/web/run/diff-model.js';
import { issueTerms, namesIn } from '../../verifiers/source/issue-names.js';
import { harvestedTests } from '../../verifiers/execution-based/generated/harvest.js';
import { Controls } from '../../verifiers/execution-based/generated/controls.js';
import { unfitTests } from '../../verifiers/execution-based/generated/admitted-tests.js';
import {
  agreeingTwin,
  isFirm,
  neverTwin,
  readScript,
  wrongTwin,
} from '../../verifiers/execution-based/generated/twins.js';
import { testsIn } from '../../verifiers/execution-based/generated/written-tests.js';
import { reasonsIn } from '../../verifiers/execution-free/agent/agent.js';
import { jsonOf, statedJudgement } from '../../verifiers/execution-free/ask.js';
import { statedSide } from '../../verifiers/execution-free/pairs/duel.js';
import { statedLetterScore } from '../../verifiers/execution-free/pointwise/rubric.js';
import { excerpt, renderAttempt } from '../../verifiers/execution-free/render/render-attempt.js';
import { calledIn, definitionsOf } from '../../verifiers/source/definitions.js';
import { expectLinear, type LinearCase, LINEAR_MS } from '../fixtures/linear-time.js';
import { OUTPUT } from '../unit/hostile-output.js';
import { PATCH } from '../unit/io/saved-runs/saved-fixtures.js';

const steps = (action: string) => [{ thought: action, action, observation: action }];
const completion = (text: string): Completion => ({
  text,
  reasoning: '',
  tool_calls: [{ id: '1', name: 'search', arguments: text }],
  logprobs: null,
  finish_reason: 'stop',
  usage: null,
  model: 'm',
});
const test = (content: string, path = 't.py') => ({ instance_id: 'i', test_id: 't', path, content, author: null });
const DIFF = [
  'diff --git a/x b/y\n',
  '--- a/x\n',
  '+++ b/x\n',
  '@@ -1,2 +1,2 @@\n',
  '@@ -1 +1 @@',
  ' x\n',
  '-x\n',
  '+x\n',
  '\\ No newline',
  'GIT binary patch\n',
  'literal 5\n',
  'rename from a\n',
  'index 1..2\n',
];

const PATCHES: readonly LinearCase[] = [
  [
    'a patch',
    (text) => {
      const patch = readPatch(text);
      return patch.kind === 'ok' ? [fingerprint(patch), splitPatch(patch), patchSize(patch)] : null;
    },
    DIFF,
  ],
  ['a patch behind a good one', (text) => patchView(`${PATCH}${text}`), DIFF],
  ['a patch in the viewer', (text) => readDiff(text).map(({ hunks }) => hunks), DIFF],
  ['a line in the viewer', (text) => highlight(text, 'a.py'), ['"', "'", '#', '//', '/*']],
  ['tests in a patch', (text) => writtenIn(text, 'i'), DIFF],
];

const PROMPTS: readonly LinearCase[] = [
  [
    'source code',
    (text) => [calledIn(text), ...['a.py', 'a.ts'].map((path) => definitionsOf(text.split('\n'), path))],
    ['def a(b):\n', 'export ', 'class A {\n', 'const a = (', ') =>', 'a(', ') {\n', '"""', '@a\n', '}', '\n'],
  ],
  [
    'what stands in a prompt',
    neutralise,
    [
      '=== END',
      '[ STEP ]',
      '[/ step ]',
      '[step]',
      '</ judgement >',
      '<judgement',
      '<|',
      '|>',
      '<turn',
      '< / eos >',
      '＜',
      '［',
      '\u200b',
      '\ud800',
    ],
  ],
  [
    'a trajectory',
    (text) => [
      renderAttempt({ issue: text, patch: PATCH, steps: steps(text), source: text, tests: text }, 20_000),
      excerpt(text, 500),
    ],
    ['\n', 'x', 'Traceback'],
  ],
  [
    'commands that look for the answer',
    (text) => leaksOf(steps(text)),
    ['git log', 'git ', 'pip ', 'curl http://', 'download', 'show', '--all', '&&', ';', '\n'],
  ],
  [
    'terms of an issue',
    (text) => [issueTerms(text), namesIn(text)],
    ['a_b', 'CamelCase', 'a/b.py', 'x.y.z', '--an-option', 'word ', '\\', '\n'],
  ],
];

const ANSWERS: readonly LinearCase[] = [
  [
    'a call in tags',
    (text) => xmlFormat.read(completion(text)),
    ['<function=search>', '<parameter=path>', '</parameter>', '</function>', '<think>', '</think>', '<function='],
  ],
  [
    'a call in a block',
    (text) => bashFormat.read(completion(text)),
    ['```bash\n', '```\n', '```', '\n', '<think>', '</think>'],
  ],
  ['a call of the API', (text) => toolsFormat.read(completion(text)), ['{"', '":"', '"}', '\\u0000', '[', '{']],
  ['a patch in an answer', patchIn, ['```\n', '```diff\n', 'diff --git a/x b/x\n', '--- a/x\n', '--- /dev/null', '\n']],
  ['a thought', splitThought, ['<think>', '</think>', '\n']],
  [
    'tests in an answer',
    (text) => [testsIn(text, 'python'), testsIn(text, 'javascript'), testsIn(text, 'go')],
    ['```python\n', '```js\n', '```\n', '```', '</think>', '\n'],
  ],
  [
    'tests that are unfit',
    (text) => unfitTests([test(text)]),
    ['Popen(', 'http.server', 'input(', ' = ', 'sleep(', '3', '.listen (', '#', '\n', '\n    '],
  ],
  [
    'a script and its twins',
    (text) =>
      ['t.py', 't.js'].map((path) => {
        const script = readScript(test(text, path));
        return script && [wrongTwin(script, () => 0), isFirm(script), agreeingTwin(script), neverTwin(script, () => 0)];
      }),
    [
      'assert a == 1\n',
      'assert ',
      ' == ',
      ' in ',
      '[1, ',
      ']',
      '(',
      ')',
      "'a'",
      "'",
      "\\'",
      '"""',
      '`',
      '/*',
      '{',
      '#',
      'sys.exit(2)\n',
      '\n',
    ],
  ],
  [
    'a judgement',
    (text) => [statedJudgement(text), statedLetterScore(text), statedSide(text), reasonsIn(text), jsonOf(text)],
    [
      '<judgement>',
      '</judgement>',
      '<better>',
      '<reasons>',
      '</reasons>',
      '{"a":',
      '[',
      '<score>',
      'YES',
      'NO',
      'A',
      '</score>',
    ],
  ],
];

const FILES: readonly LinearCase[] = [
  [
    "scripts of agents' own",
    (action) =>
      harvestedTests(
        [{ instance_id: 'i', candidate_id: 'c', patch: '', trajectory: { steps: steps(action), exit_reason: null } }],
        5,
      ),
    [
      '<parameter=command>create</parameter>',
      '<parameter=path>',
      '<parameter=file_text>',
      '</parameter>',
      'cat > test_a.py << EOF\n',
      'cat>',
      '.py',
      '<<',
      'EOF',
      'EOF\n',
      'assert',
      '/test_',
      '\n',
    ],
  ],
  ['a list of Python', parsePythonList, ['[', ']', '1, ', "'a', ", '"', '\\', 'None', '1.', 'e1', ', ']],
  [
    'a line of an upload',
    (text) => new SavedLine({ line: 1, byte: 0, bytes: Buffer.from(text) }, UPLOAD_BOUNDS).mayBeginDocument,
    ['{"a": ', '[1, ', '}', ']', '"', '\\"', ' '],
  ],
  [
    'a document that breaks off',
    (text) => flawOf(text.split('\n').flatMap((each, at) => (each.trim() === '' ? [] : [{ text: each, line: at }]))),
    ['{"a": ', '[1, ', '}', ']', '"', '\n', '1,\n'],
  ],
  [
    'an id',
    (text) => [
      repositoryOf(text),
      isImageReference(text),
      imageOf({ instance_id: text, repo: text, image: null }, { all: '{instance_id}', byRepo: new Map() }),
    ],
    ['__', '-', 'a/', ':1', '@sha256:'],
  ],
];

describe('hostile text is read in linear time:', () => {
  it.each([...OUTPUT, ...PATCHES, ...PROMPTS, ...ANSWERS, ...FILES])(
    '%s',
    (_name, read, words) => {
      expectLinear(read, words);
    },
    LINEAR_MS,
  );

  it('which tells a quadratic reader from others', () => {
    expect(() => {
      expectLinear((text) => /\s+#/.test(text), ['#']);
    }).toThrow('Counterexample');
  });

  it('of many long tests, controls are made from a few', () => {
    const content = 'assert a == 1\n'.repeat(6_000);
    const asked = new Map<string, number>();
    const tests = Array.from({ length: 600 }, (_, at) => ({
      ...{ ...test(''), test_id: String(at) },
      get content() {
        asked.set(this.test_id, (asked.get(this.test_id) ?? 0) + 1);
        return content;
      },
    }));
    expect(new Controls(tests, () => 'a1').due(false)).toBeNull();
    // Once for the size of all, once to choose: whoever is asked again is read.
    const read = [...asked.values()].filter((times) => times > 2);
    expect(read.length).toBeGreaterThan(0);
    expect(read.length).toBeLessThan(5);
  });

  it('and a patch too large to be read in passing is not listed by files', () => {
    const large = `${PATCH}${'x\n'.repeat(200_000)}`;
    expect(patchView(large)).toEqual({
      characters: large.length,
      sha256: expect.stringMatching(/^[\da-f]{64}$/) as unknown,
      problem: null,
      files: [],
    });
    expect(patchView(PATCH).problem).toBeNull();
  });
});
