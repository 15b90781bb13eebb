import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tracedCalls } from '../../../../verifiers/execution-based/generated/traced-example.js';
import { exited, FakeSandbox } from '../../../fakes/fake-sandbox.js';
import { calculatorIssue } from '../../../fixtures/calculator.js';

const { signal } = new AbortController();
const MODULE = `def add(a, b):
    return check(a) + check(b)


def check(value):
    if value is None:
        raise ValueError(value)
    return value


def at_import():
    pass


at_import()
`;

/** What the trace sees, with this machine's Python in the place of a container's. */
async function traced(problem_statement: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bestk-trace-'));
  writeFileSync(join(folder, 'sums.py'), MODULE);
  const sandbox = new FakeSandbox(({ argv: [program = '', ...args], stdin = '' }) =>
    exited(0, execFileSync(program, args, { cwd: folder, input: stdin, encoding: 'utf8', stdio: 'pipe' })),
  );
  const calls = await tracedCalls(sandbox, { ...calculatorIssue, problem_statement }, signal);
  return calls.map(({ path, line, depth, raised }) => `${path}:${line} ${depth}${raised ? ' raised' : ''}`);
}

describe('the code of an issue', () => {
  it('is run among its prose, statement by statement, and its calls are noted', async () => {
    const issue = 'Adding fails.\n\n```python\nfrom sums import add\nnothing_here()\nadd(1, 2)\n```\nI expect 3.';
    expect(await traced(issue)).toEqual(['sums.py:0 1', 'sums.py:4 2']);
  });

  it('tells through what its exceptions came', async () => {
    const issue = 'See:\n>>> import sums\n>>> sums.check(1)\n1\n>>> sums.add(1, None)\nValueError';
    expect(await traced(issue)).toEqual(['sums.py:4 1 raised', 'sums.py:0 1 raised']);
  });

  it('may do or print what it likes', async () => {
    const quits = 'import sums, os\nprint([["x", 1, 1, False]])\nraise SystemExit\nsums.check(2)';
    expect(await traced(quits)).toEqual(['sums.py:4 1']);
    expect(await traced('import os\nos._exit(0)')).toEqual([]);
    expect(await traced('Import nothing, and call nobody.')).toEqual([]);
  });
});
