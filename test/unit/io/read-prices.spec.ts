import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPrices } from '../../../src/io/inputs/yaml.js';

function file(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'bestk-prices-')), 'prices.yaml');
  writeFileSync(path, text);
  return path;
}

it('reads prices by model, in YAML or JSON', async () => {
  const table = { m: { input: 0.2, cached_input: 0.05, output: 0.8 }, '*': { input: 0, output: 0 } };
  expect(
    await readPrices(file("m: { input: 0.2, cached_input: 0.05, output: 0.8 }\n'*': { input: 0, output: 0 }\n")),
  ).toEqual(table);
  expect(await readPrices(file(JSON.stringify(table)))).toEqual(table);
});

it.each([
  ['a negative price', 'm: { input: -1, output: 1 }', /prices\.yaml, field "m\.input"/],
  ['a missing one', 'm: { input: 1 }', /field "m\.output"/],
  ['an unknown one', 'm: { input: 1, output: 1, outptu: 2 }', /field "m"/],
  ['a list', '- 1', /prices\.yaml/],
  ['no YAML', 'm: { input: 1', /is not YAML/],
])('refuses %s', async (_name, text, words) => {
  await expect(readPrices(file(text))).rejects.toThrow(words);
});

it('names a file that is missing', async () => {
  await expect(readPrices('/nowhere/prices.yaml')).rejects.toThrow(/\/nowhere\/prices\.yaml: cannot be read/);
});
