import { type Block, blocksOf } from '../../../src/web/markdown/blocks.js';
import { type Span, spansOf } from '../../../src/web/markdown/markdown.js';

describe('blocks of Markdown', () => {
  it.each<[string, readonly Block[]]>([
    [
      'a\nb\n\nc',
      [
        { kind: 'paragraph', text: 'a\nb' },
        { kind: 'paragraph', text: 'c' },
      ],
    ],
    ['### Bug', [{ kind: 'heading', text: 'Bug' }]],
    ['#5 is no heading', [{ kind: 'paragraph', text: '#5 is no heading' }]],
    [
      '```py\nx = 1\n\n# y\n```\nz',
      [
        { kind: 'code', text: 'x = 1\n\n# y' },
        { kind: 'paragraph', text: 'z' },
      ],
    ],
    ['~~~\nnever closed', [{ kind: 'code', text: 'never closed' }]],
    ['    >>> f()\n    1', [{ kind: 'code', text: '>>> f()\n1' }]],
    ['---', [{ kind: 'rule' }]],
    ['> a\n> b', [{ kind: 'quote', blocks: [{ kind: 'paragraph', text: 'a\nb' }] }]],
    ['| a | b |\n|---|:-:|\n| 1 | 2 |', [{ kind: 'table', head: ['a', 'b'], rows: [['1', '2']] }]],
    ['a | b', [{ kind: 'paragraph', text: 'a | b' }]],
    ['<!-- seen -->', [{ kind: 'paragraph', text: '<!-- seen -->' }]],
    [
      '3. a\n   b\n4. c\n   - d',
      [
        {
          kind: 'list',
          first: 3,
          items: [
            [{ kind: 'paragraph', text: 'a\nb' }],
            [
              { kind: 'paragraph', text: 'c' },
              { kind: 'list', first: null, items: [[{ kind: 'paragraph', text: 'd' }]] },
            ],
          ],
        },
      ],
    ],
  ])('%j', (text, blocks) => {
    expect(blocksOf(text)).toEqual(blocks);
  });

  it.each([
    ['>', '> '.repeat(20_000)],
    ['-', '- '.repeat(20_000)],
    ['1.', '1. '.repeat(20_000)],
  ])('nests %s no deeper than a few levels', (_, text) => {
    let depth = 0;
    for (let blocks = blocksOf(`${text}x`); blocks.length > 0; depth += 1) {
      const [first] = blocks;
      blocks = first?.kind === 'quote' ? first.blocks : first?.kind === 'list' ? (first.items[0] ?? []) : [];
    }
    expect(depth).toBeLessThan(10);
  });
});

describe('spans of Markdown', () => {
  const link = (href: string, ...spans: Span[]): Span => ({ kind: 'link', href, spans, isImage: false });
  it.each<[string, readonly Span[]]>([
    ['a `b*c*` d', ['a ', { kind: 'code', text: 'b*c*' }, ' d']],
    ['**a *b***', [{ kind: 'strong', spans: ['a *b'] }, '*']],
    ['_em_ __init__ a_b_c', [{ kind: 'em', spans: ['em'] }, ' __init__ a_b_c']],
    ['2 * 3 * 4', ['2 * 3 * 4']],
    ['~~gone~~', [{ kind: 'del', spans: ['gone'] }]],
    ['\\*a\\*', ['*', 'a', '*']],
    ['see https://a.org/b.', ['see ', link('https://a.org/b', 'https://a.org/b'), '.']],
    ['[t](https://a.org "x")', [link('https://a.org', 't')]],
    ['![t](https://a.org/i.png)', [{ kind: 'link', href: 'https://a.org/i.png', spans: ['t'], isImage: true }]],
    ['[t](javascript:alert(1))', ['[t](javascript:alert(1))']],
    ['[t](data:text/html,x)', ['[t](data:text/html,x)']],
    ['[t](//a.org)', ['[t](//a.org)']],
    ['<script>x</script>', ['<script>x</script>']],
  ])('%j', (text, spans) => {
    expect(spansOf(text)).toEqual(spans);
  });
});
