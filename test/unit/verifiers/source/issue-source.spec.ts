import { chosenFiles } from '../../../../verifiers/execution-based/generated/chosen-files.js';
import { gitRepository } from '../../../fixtures/git-repository.js';
import { issue } from '../execution-free/judge-world.js';

const { signal } = new AbortController();

const many = (line: (n: number) => string, count: number): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');

const FILES: Readonly<Record<string, string>> = {
  'shop/basket.py': `"""All about baskets: total_price, Basket.add_item and discounts.

${many((n) => `Long words about total_price ${n}.`, 60)}
"""
from shop.rates import rate_of


class Basket:
    """Holds items.

    SECRET WORDS of a class.
    """

    currency = 'EUR'

    def __init__(self):
        self.items = []

    def add_item(self, item):
        """Adds an item.

        SECRET WORDS of a docstring.
        """
        self.items.append(item)

    def total_price(self, country):
        return sum(item.price for item in self.items) * rate_of(country)

    def unrelated_thing(self):
        return 'nothing to see'
${many((n) => `\n    def filler_${n}(self):\n        return ${n}`, 40)}
`,
  'shop/rates.py': `def rate_of(country):\n    return rounded_rate(RATES[country])\n\n\ndef rounded_rate(rate):\n    return round(rate, 2)\n\n\ndef other():\n    return 7\n`,
  'shop/commands/export.py': `def write(rows):\n    return rows\n`,
  'shop/orders.py': `from shop.lines import Lines\n\n\nclass Order(Lines):\n    def send_order(self):\n        return super().pack()\n\n    def wrap(self):\n        return 'wrapped as an order'\n`,
  'shop/lines.py': `class Lines:\n    def pack(self):\n        return self.wrap()\n\n    def wrap(self):\n        return 'wrapped as lines'\n`,
  'shop/parcels.py': many(
    (n) =>
      `class Parcel${n}:\n    def pack(self):\n        return ${n}\n\n    def wrap(self):\n        return ${n}\n\n`,
    6,
  ),
  'shop/small.py': `class Box:\n    def first(self):\n        return 1\n`,
  'shop/edits.py': `def modified_by(user):\n    return user\n\n\ndef last_modified(rows):\n    return rows\n`,
  'shop/noise.py': many((n) => `def noise_${n}():\n    return 'price'\n`, 200),
  'tests/test_basket.py': `from shop.basket import Basket\n\n\ndef test_total_price():\n    assert Basket().total_price('x') == 0  # TESTBODY\n`,
};

async function shown(problem_statement: string): Promise<{ readonly paths: readonly string[]; readonly text: string }> {
  const { files, language } = await chosenFiles(gitRepository(FILES).sandbox, { ...issue, problem_statement }, signal);
  expect(language).toBe('python');
  return { paths: files.map(({ path }) => path), text: files.map(({ text }) => text).join('\n') };
}

describe('the source that a test writer is shown', () => {
  it('is the functions that the issue names and what these call, not whole files, docstrings or tests', async () => {
    const { paths, text } = await shown('Basket.total_price() is wrong for Norway.');
    expect(paths.slice(0, 2)).toEqual(['shop/basket.py', 'shop/rates.py']);
    expect(text).toContain('sum(item.price for item in self.items)');
    expect(text).toContain('RATES[country]');
    expect(text).toContain('return round(rate, 2)');
    expect(text).toContain('class Basket');
    for (const left of ['Long words', 'nothing to see', 'TESTBODY', 'noise_100']) expect(text).not.toContain(left);
  });

  it('is each part once: of a class its attributes and the members that are not shown whole', async () => {
    const { text } = await shown(
      'Basket.total_price() and Basket.add_item() are wrong; so is small.Box, Box.first too.',
    );
    for (const once of [
      'class Basket',
      'def total_price',
      'def add_item',
      "currency = 'EUR'",
      'class Box',
      'def first',
    ]) {
      expect(text.split(once)).toHaveLength(2);
    }
    expect(text).toContain('def unrelated_thing(self): …');
    expect(text).not.toContain('SECRET WORDS');
  });

  it('is what a method calls of its own object and of what it overrides, though many others have those names', async () => {
    const { paths, text } = await shown('send_order() forgets the wrapping.');
    expect(paths).toEqual(['shop/orders.py', 'shop/lines.py']);
    expect(text).toContain('return self.wrap()');
    expect(text).toContain('wrapped as an order');
  });

  it('is not what a tracker says of an edit', async () => {
    const { text } = await shown('Wrong total_price\nDescription\n\n\t(last modified by other)\n\nIt is too low.');
    expect(text).toContain('def total_price');
    expect(text).not.toContain('def modified_by');
  });

  it('is found by plain words that together are a name, without the text that documents it', async () => {
    const { text } = await shown('Cannot add item twice\n\nIt should count.');
    expect(text).toContain('self.items.append(item)');
    expect(text).not.toContain('SECRET WORDS');
  });

  it('is the file that the title or a traceback names', async () => {
    expect((await shown('export loses rows')).text).toContain('def write(rows)');
    const traceback = 'It fails.\n  File "/venv/lib/python3/site-packages/shop/rates.py", line 2, in rate_of\nKeyError';
    expect((await shown(traceback)).paths[0]).toBe('shop/rates.py');
  });

  it('is bounded, whatever the issue', async () => {
    const { text } = await shown(`price ${many((n) => `noise_${n} total_price Basket`, 200)}`);
    expect(text.length).toBeLessThan(50_000);
    expect((await shown('')).paths).toEqual([]);
    expect((await shown('$(rm -rf /) \' " `x` \\')).paths).toEqual([]);
  });
});
