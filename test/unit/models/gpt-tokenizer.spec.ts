import { GptTokenizer } from '../../../src/models/llm-clients.js';

const tokenizer = new GptTokenizer();

it('counts what the vocabulary says', async () => {
  expect(await tokenizer.count('')).toBe(0);
  expect(await tokenizer.count('hello world')).toBe(2);
  expect(await tokenizer.count('<|endoftext|>')).toBeGreaterThan(1);
});

it('adds up over long texts, within a per cent of one piece', async () => {
  const line = 'def add(a, b):\n    return a + b\n';
  const one = await tokenizer.count(line);
  const many = await tokenizer.count(line.repeat(5_000));
  expect(many / (one * 5_000)).toBeCloseTo(1, 2);
});
