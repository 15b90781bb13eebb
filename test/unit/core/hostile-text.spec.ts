import { neutralise, visible, visibleLine } from '../../../src/core/hostile-text.js';
import { selectionTable } from '../../../src/reports/selection-table.js';
import { visible as onPage } from '../../../src/web/format.js';
import { runResult } from '../../fixtures/runs.js';

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
