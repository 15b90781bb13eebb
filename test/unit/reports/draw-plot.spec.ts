import { drawPng, drawSvg } from '../../../src/reports/plots/draw-plot.js';

it('draws a plot of a rule whose name JavaScript would replace with parts of the drawing', async () => {
  const title = "By repository: returned by $' $& $` $$";
  const spec = {
    data: { values: [{ a: 1 }] },
    mark: 'point',
    encoding: { x: { field: 'a', type: 'quantitative' } },
  } as const;
  const svg = await drawSvg({ name: 'p', title, note: '', spec, table: { columns: [], rows: [] } });
  expect(svg).toContain('aria-label="By repository: returned by $\' $&#38; $` $$" ');
  expect(svg.match(/<svg /g)).toHaveLength(1);
  expect((await drawPng(svg)).length).toBeGreaterThan(0);
});
