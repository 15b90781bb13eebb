import { readFileSync } from 'node:fs';
import { DARK } from '../../../src/reports/plots/plot.js';

it('draws the report’s plots in the report’s colours, in the dark too', () => {
  const style = readFileSync('src/web/styles/plots.css', 'utf8');
  const rules = [...style.matchAll(/\[(fill|stroke)='(#\w+)'\] \{\s+\1: light-dark\((#\w+), (#\w+)\);/g)];
  const expected = Object.entries(DARK).flatMap(([light, dark]) =>
    ['fill', 'stroke'].map((what) => [what, light, light, dark]),
  );
  expect(rules.map(([, ...each]) => each)).toEqual(expected);
});
