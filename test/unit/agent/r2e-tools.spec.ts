import { exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { call } from '../../fixtures/agent-script.js';
import { calculatorIssue } from '../../fixtures/calculator.js';
import { rolloutWorld, runs, says, submits } from './rollout-world.js';

describe('a model trained in R2E-Gym', () => {
  const lines = Array.from({ length: 200 }, (_, n) => (n % 10 === 0 ? `def f${n}():` : `    ${'x'.repeat(70)} = ${n}`));
  const { image } = calculatorIssue.environment;
  const shown = async (
    prompt: 'agent/r2e' | undefined,
    text: string,
    views: readonly Readonly<Record<string, string>>[],
  ): Promise<readonly string[]> => {
    const path = '/testbed/long.py';
    const images = { [image]: { workdirs: ['/testbed'], files: { [path]: text } } };
    const sandbox = new FakeSandbox(({ argv }) => exited(argv[4] === 'false' ? 1 : 0), { images });
    const { run } = rolloutWorld({}, { sandbox, settings: { prompt } });
    const asked = views.map((more) => says(call('file_editor', { command: 'view', path, ...more })));
    return (await run([...asked, runs('false'), submits])).steps.map(({ observation }) => observation);
  };
  const long = (prompt?: 'agent/r2e') =>
    shown(prompt, lines.join('\n'), [{}, { concise: 'False' }, { view_range: '[1, 200]' }]);

  it('sees the skeleton of a long Python file, shorter texts, and which commands failed', async () => {
    const [whole = '', same, range = '', failed = ''] = await long('agent/r2e');
    expect(whole).toMatch(/f0\(\):\n {5}2\t\.\.\. eliding lines 2-10 \.\.\.\n {4}11\tdef f10\(\)[^x]*$/);
    expect(same).toBe(whole);
    expect(range).toMatch(/ 2\t {4}x+ = 1\n[^]*characters omitted/);
    expect(range.length).toBeLessThan(10_300);
    expect(failed).toMatch(
      /^Exit code: 1\nExecution output of \[execute_bash\]:\nError executing command:\n\n\[STDOUT\]/,
    );
    const [short = ''] = await shown('agent/r2e', lines.slice(0, 110).join('\n'), [{}]);
    expect(short).toMatch(/ 110\t {4}x+ = 109$/);
    expect(short).not.toContain('omitted');
  });

  it('is the only one', async () => {
    const [whole = '', same, , failed] = await long();
    expect(whole).toMatch(/ 2\t {4}x+ = 1\n/);
    expect(whole.length).toBeGreaterThan(15_000);
    expect(same).toBe(whole);
    expect(failed).toMatch(/\]:\nThe command printed nothing\.$/);
  });

  it('sees in a skeleton all but long bodies of functions and long docstrings of classes', async () => {
    const text = `import os
SIZE = 1
class Thing(
    Base,
):
    """A thing.

    def example():
        of no matter
    """

    name = 'x'

    @property
    async def size(
        self, limit: int = 3, *rest: str,
    ) -> int:  # in bytes
        a = limit
# was: b

        def inner():
            return 1
        return a

    def one(self): return 1
    def three(self):
        a = 1
        b = 2
        return a + b

    other = 2
def last(): # the end
\t'''of four'''
\ta = 1
\tb = 2
\treturn a
# the rest
END = [
    3,
]
class Open:
    """never closed
    def f(self):
        return 1
`;
    const [seen = ''] = await shown('agent/r2e', text, [{ concise: 'True' }]);
    const expected = text
      .split('\n')
      .slice(0, -1)
      .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`);
    for (const [first, last] of [
      [33, 36],
      [18, 23],
      [7, 9],
    ] as const) {
      const elided = `${String(first).padStart(6)}\t... eliding lines ${first}-${last} ...`;
      expected.splice(first - 1, last - first + 1, elided);
    }
    expect(seen.split('\n').slice(2)).toEqual(expected);
  });
});
