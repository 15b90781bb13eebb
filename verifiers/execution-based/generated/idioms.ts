import type { TestLanguage } from '../drivers/test-dialect.js';
import type { Edit } from './script-tokens.js';

/*
 * What twins say instead of an expression, `@`, in many ways, so that no patch knows them by their looks; `#` is some number.
 */

/** What holds no part that the expression has, and equals no value, arrays that are compared part by part included. */
export const SEQUENCES: readonly string[] = [
  ...['[@, #]', '(@, #)', '[#, @]', '(#, @)', '[[@], #]', '([@], #)', 'list((@, #))', 'iter([@, #])', 'tuple([#, @])'],
];

/** What equals no value, either. */
export const OTHERS: Readonly<Record<TestLanguage, readonly string[]>> = {
  python: [
    ...SEQUENCES,
    ...['{#: @}', '{"value": @}', 'dict(value=@)', 'type(@)', 'id(@)', 'str(@) + "#"', '"#" + repr(@)', '(lambda: @)'],
  ],
  javascript: [
    ...[
      '[#, @]',
      '[@, #]',
      '[[@], #]',
      '({ value: @ })',
      '({ at: #, value: @ })',
      'String(@) + "#"',
      '"#" + String(@)',
    ],
    ...['new Set([@, #])', 'new Map([[#, @]])', '(() => @)'],
  ],
};

/** Leaves with 2 whatever the status would have been, and keeps that, so as not to look like it. */
export const NEVER: Readonly<Record<TestLanguage, readonly string[]>> = {
  python: [
    ...['2 if (@) else 2', '(@) and 2 or 2', '(2, 2)[bool(@)]', '[2, 2][not (@)]', '2 + 0 * bool(@)', '(@, 2)[1]'],
    ...[
      '[@, 2][-1]',
      '2 - bool(@) * 0',
      '1 + 1 ** bool(@)',
      '2 * 1 ** bool(@)',
      '{0: 2}.get(bool(@), 2)',
      'len([@, 0])',
    ],
    ...['3 - (1 if (@) else 1)', '(not (@)) * 0 + 2', '[2 for _ in [@]][0]', '(lambda code: 2)(@)'],
  ],
  javascript: [
    ...['(@) ? 2 : 2', '(@) && 2 || 2', '[2, 2][Number(!(@))]', '[@, 2][1]', '2 + 0 * Number(!(@))', '[@, 0].length'],
    ...['3 - ((@) ? 1 : 1)', '((code) => 2)(@)', '1 + 1 ** Number(!(@))', '2 - Number(!(@)) * 0'],
  ],
};

/** Says what stands in a text in one of these ways. */
export function saidAs(
  ways: readonly string[],
  from: number,
  to: number,
  random: (below: number) => number,
): readonly Edit[] {
  const [before = '', behind = ''] = (ways[random(ways.length)] ?? '@').split('@');
  const numbered = (text: string): string => text.replace('#', String(random(90) + 10));
  return [
    { from, to: from, text: numbered(before) },
    { from: to, to, text: numbered(behind) },
  ];
}
