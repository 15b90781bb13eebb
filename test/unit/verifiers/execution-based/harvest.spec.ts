import type { Candidate } from '../../../../src/core/run/candidate.js';
import { harvestedTests } from '../../../../verifiers/execution-based/generated/harvest.js';

const create = (path: string, text: string): string =>
  `<function=file_editor>\n<parameter=command>create</parameter>\n<parameter=path>${path}</parameter>\n` +
  `<parameter=file_text>${text}</parameter>\n</function>`;

function did(candidate_id: string, ...actions: readonly string[]): Candidate {
  const steps = actions.map((action) => ({ thought: '', action, observation: '' }));
  return { instance_id: 'i', candidate_id, patch: '', trajectory: { steps, exit_reason: 'agent' } };
}

const found = (candidates: readonly Candidate[], most = 2): readonly string[] =>
  harvestedTests(candidates, most).map(({ test_id, content }) => `${test_id}: ${/SCRIPT = (".*")/.exec(content)?.[1]}`);

describe('tests from trajectories', () => {
  it('are scripts that the agent wrote with its editor or its shell', () => {
    const heredoc = "cd /testbed && cat > test_edge.py << 'EOF'\nassert f(0) == 0\nEOF\npython test_edge.py";
    expect(found([did('a', create('/testbed/reproduce_issue.py', 'assert f(1) == 1\n'), heredoc)])).toEqual([
      String.raw`a-own-1: "assert f(1) == 1\n"`,
      String.raw`a-own-2: "assert f(0) == 0\n"`,
    ]);
  });

  it('are the last state of the last ones, so many of each candidate', () => {
    const script = (n: number): string => create(`/testbed/test_${n}.py`, `assert ${n}\n`);
    const a = did('a', script(1), script(2), script(3), create('/testbed/test_2.py', 'assert 22\n'));
    expect(found([a, did('b', script(4))])).toEqual([
      String.raw`a-own-1: "assert 22\n"`,
      String.raw`a-own-2: "assert 3\n"`,
      String.raw`b-own-1: "assert 4\n"`,
    ]);
  });

  it.each([
    ['source', create('/testbed/pkg/core.py', 'assert True\n')],
    ['what can say nothing', create('/testbed/reproduce.py', 'print(f(1))\n')],
    ['what is no Python', create('/testbed/test_notes.md', 'assert\n')],
    ['a script without an end', "cat > test_a.py <<'EOF'\nassert f(1)\n"],
    ['a huge one', create('/testbed/test_a.py', `assert ${'1'.repeat(30_000)}\n`)],
    ['no text', '<function=file_editor>\n<parameter=command>create</parameter>\n<parameter=path>test_a.py</parameter>'],
  ])('are not %s', (_name, action) => {
    expect(found([did('a', action)])).toEqual([]);
  });

  it('need trajectories', () => {
    expect(harvestedTests([{ ...did('a'), trajectory: null }], 2)).toEqual([]);
  });

  it('hold hostile text as text', () => {
    const [test] = harvestedTests([did('a', create('test_a.py', 'assert "\\"\n"""\n\u2028x'))], 1);
    expect(test?.content.split('\n')[1]).toBe(String.raw`SCRIPT = "assert \"\\\"\n\"\"\"\n` + '\u2028x"');
  });
});
