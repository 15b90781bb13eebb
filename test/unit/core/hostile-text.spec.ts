import { gitOutput } from '../../../src/agent/loop/extract-patch.js';
import type { Workspace } from '../../../src/agent/tools/workspace.js';
import { CappedBytes, neutralise, visible, visibleLine } from '../../../src/core/hostile-text.js';
import { type GradingContext, runTests } from '../../../src/grading/run-hidden-tests.js';
import type { SandboxSession } from '../../../src/ports/sandbox.js';
import { selectionTable } from '../../../src/reports/selection-table.js';
import { visible as onPage } from '../../../src/web/format.js';
import { exited } from '../../fakes/fake-sandbox.js';
import { runResult } from '../../fixtures/runs.js';
import { Printed } from '../../../verifiers/execution-based/existing/run-regression.js';

/** What hides, reorders or disguises text: a few of each kind, and how each is spelled. */
const UNSEEN: Readonly<Record<string, string>> = {
  '\u0000': '␀',
  '\u001b': '␛',
  '\r': '␍',
  '\u007f': '␡',
  '\u0085': '⟨U+0085⟩',
  '\u00ad': '⟨U+00AD⟩',
  '\u034f': '⟨U+034F⟩',
  '\u061c': '⟨U+061C⟩',
  '\u115f': '⟨U+115F⟩',
  '\u180e': '⟨U+180E⟩',
  '\u200b': '⟨U+200B⟩',
  '\u2028': '⟨U+2028⟩',
  '\u202e': '⟨U+202E⟩',
  '\u2069': '⟨U+2069⟩',
  '\u3164': '⟨U+3164⟩',
  '\ufeff': '⟨U+FEFF⟩',
  '\ufffb': '⟨U+FFFB⟩',
  '\u{e0041}': '⟨U+E0041⟩',
  '\u{e0101}': '⟨U+E0101⟩',
};

it.each([
  ['text', visible],
  ['a line', visibleLine],
  ['a prompt', neutralise],
  ['a page', onPage],
])('in %s everything is seen', (_, shown) => {
  for (const [character, spelled] of Object.entries(UNSEEN)) expect(shown(`a${character}b`)).toBe(`a${spelled}b`);
});

it('a table that a terminal shows holds nothing unseen, and no line that is not its own', () => {
  const base = runResult();
  const id = `a${Object.keys(UNSEEN).join('')}\nb`;
  const ranking = base.selection.ranking.map((candidate) => ({ ...candidate, candidate_id: id, flags: [id] }));
  const table = selectionTable({ ...base, selection: { ...base.selection, ranking } }, null);
  for (const character of Object.keys(UNSEEN)) expect(table).not.toContain(character);
  expect(table.split('\n')).toHaveLength(1 + ranking.length);
});

it('what can be seen stays as it is', () => {
  const text = 'a\tb\nü 漢字 \u0645 <b> ☺\ufe0f';
  expect(visible(text)).toBe(text);
  expect(visibleLine(text)).toBe(text.replace('\n', '␊'));
});

it('ends of lines are one', () => {
  expect(visible('a\r\nb\rc')).toBe('a\nb␍c');
});

describe('output that comes byte by byte', () => {
  const MIB = 2 ** 20;
  const go = new AbortController().signal;
  /** An object for each byte takes more; their garbage takes less. */
  const LITTLE = 64 * MIB;
  const whole = Buffer.alloc(MIB, '\0bcdefg');

  /** How much memory the bytes take while they are kept. */
  function said(take: (piece: Uint8Array) => void): number {
    const before = process.memoryUsage();
    for (let n = 0; n < MIB; n += 1) take(whole.subarray(n, n + 1));
    const after = process.memoryUsage();
    return after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  }

  it('is kept as the first bytes in order, up to the cap', () => {
    const output = new CappedBytes(MIB - 3);
    expect(
      said((piece) => {
        output.push(piece);
      }),
    ).toBeLessThan(LITTLE);
    expect(output.truncated).toBe(true);
    expect(output.bytes().equals(whole.subarray(0, MIB - 3))).toBe(true);
  });

  it('does not change when more arrives', () => {
    const output = new CappedBytes(9);
    output.push(Buffer.from('ab'));
    const first = output.bytes();
    output.push(Buffer.from('cd'));
    expect([first.toString(), output.bytes().toString(), output.truncated]).toEqual(['ab', 'abcd', false]);
  });

  it('takes little memory in the run of existing tests, and no part of what is too large is read', () => {
    const printed = new Printed(MIB);
    expect(said(printed.take)).toBeLessThan(LITTLE);
    expect(whole.equals(printed.bytes())).toBe(true);
    printed.take(Buffer.of(0));
    expect(printed.bytes()).toHaveLength(0);
  });

  it('takes little memory in the run of hidden tests', async () => {
    let [grown, read] = [0, Buffer.of()];
    const session = {
      writeFiles: () => Promise.resolve(),
      exec: ({ onStdout = () => undefined }: Parameters<SandboxSession['exec']>[0]) => {
        grown = said(onStdout);
        return Promise.resolve(exited(0));
      },
    } as unknown as SandboxSession;
    const bench = {
      command: { scripts: {}, reportsOn: 'both', line: 't', format: 'pytest' },
      readLog: ({ bytes }: { bytes: Uint8Array }) => {
        read = Buffer.from(bytes);
        return Promise.resolve(null);
      },
    } as unknown as GradingContext;
    await runTests(session, bench, go);
    expect(grown).toBeLessThan(LITTLE);
    expect(read.equals(whole)).toBe(true);
  });

  it('takes little memory where it is an agent’s change', async () => {
    let grown = 0;
    const workspace = {
      run: (_: unknown, { onStdout }: { onStdout: (piece: Uint8Array) => void }) => {
        grown = said(onStdout);
        return Promise.resolve(exited(0));
      },
    } as unknown as Workspace;
    const { difference } = await gitOutput({ what: 'all', stdin: undefined }, workspace, go);
    expect(grown).toBeLessThan(LITTLE);
    expect(difference?.equals(whole.subarray(1))).toBe(true);
  });
});
