import { calledIn, definitionsOf, innermost } from '../../../../verifiers/source/definitions.js';

const outline = (path: string, text: string): string[] =>
  definitionsOf(text.split('\n'), path).map(
    ({ name, start, end, isType }) => `${name} ${start + 1}-${end}${isType ? ' type' : ''}`,
  );

it('finds the definitions of a Python file, decorators and long signatures included', () => {
  const text = `import os

@cached
@other
def first(
    a,
    b,
):
    """Says
things that stand at the margin
def not_one():
    """
    return a

class Thing(Base):
    x = 1

    async def method(self):
        def inner():
            pass
        return inner

    # last word
Thing.y = 2`;
  expect(outline('a.py', text)).toEqual(['first 3-13', 'Thing 15-23 type', 'method 18-21', 'inner 19-20']);
});

it.each([
  [
    'a.ts',
    `export class Box<T> {
  constructor(private readonly x: T) {
    this.x = x;
  }

  async get(key: string): Promise<T> {
    if (key === '') {
      return this.x;
    }
  }
}
export const pick = async (x: number) => {
  return x;
};
function last() {
}`,
    ['Box 1-11 type', 'constructor 2-4', 'get 6-10', 'pick 12-14', 'last 15-16'],
  ],
  [
    'a.go',
    `type T struct {\n\ta int\n}\n\nfunc (t *T) Get(a int) int {\n\treturn t.a\n}\n\nfunc Free() {\n}`,
    ['Get 5-7', 'Free 9-10'],
  ],
  ['a.rs', `impl Shape {\n    pub fn area(&self) -> f64 {\n        1.0\n    }\n}`, ['Shape 1-5 type', 'area 2-4']],
  [
    'A.java',
    `public class A {\n    private int add(int a, int b) {\n        return a + b;\n    }\n}`,
    ['A 1-5 type', 'add 2-4'],
  ],
])('finds those of %s by their indentation', (path, text, expected) => {
  expect(outline(path, text)).toEqual(expected);
});

it('knows the innermost definition of a line', () => {
  const text = 'class A:\n    def b(self):\n        return 1\n\nx = 1';
  const definitions = definitionsOf(text.split('\n'), 'a.py');
  expect([0, 2, 4].map((line) => innermost(definitions, line)?.name)).toEqual(['A', 'b', undefined]);
});

it('lists what is called, without what every file calls', () => {
  expect(calledIn('x = normalise(len(rows), self.clean_up(y)) if check(x) else super().__init__()')).toEqual([
    'normalise',
    'clean_up',
    'check',
  ]);
});

it('takes linear time on lines that nobody wrote', () => {
  const flood = ['a'.repeat(500_000), `f${'('.repeat(200_000)}${')'.repeat(200_000)}`, `${'a '.repeat(200_000)}{`];
  const start = performance.now();
  definitionsOf(flood, 'a.js');
  calledIn(flood.join('\n'));
  expect(performance.now() - start).toBeLessThan(2000);
});
