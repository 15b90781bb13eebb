import fc from 'fast-check';
import type { TokenLogprob } from '../../../../src/ports/llm-client.js';
import { readJudgement } from '../../../../verifiers/execution-free/ask.js';

const TAG = ['<', 'jud', 'gement', '>'];
const plain = (token: string): TokenLogprob => ({ token, logprob: 0, top: [] });

/** A position from probabilities; the first one is the sampled token. */
function position(probabilities: Readonly<Record<string, number>>): TokenLogprob {
  const top = Object.entries(probabilities).map(([token, p]) => ({ token, logprob: Math.log(p) }));
  return { token: top[0]?.token ?? '', logprob: top[0]?.logprob ?? 0, top };
}

function judge(probabilities: Readonly<Record<string, number>>, before = TAG, after = ['</judgement>']): unknown {
  return readJudgement([...before.map(plain), position(probabilities), ...after.map(plain)]);
}

const read = (yes: number, mass: number): unknown => ({
  kind: 'read',
  yes: expect.closeTo(yes, 10) as number,
  mass: expect.closeTo(mass, 10) as number,
});
const unreadable = expect.objectContaining({ kind: 'unreadable' }) as unknown;

it('is P(YES) / (P(YES) + P(NO)) at the token after the tag', () => {
  expect(judge({ YES: 0.6, NO: 0.2, Maybe: 0.1 })).toEqual(read(0.75, 0.8));
});

describe('finds the verdict however tokens are cut', () => {
  it.each<[string, string[], Record<string, number>]>([
    ['one token for the tag', ['<judgement>'], { YES: 0.6, NO: 0.2 }],
    ['letter by letter', Array.from('<judgement>'), { YES: 0.6, NO: 0.2 }],
    ['text before', ['Sure', ': ', '<judgement>'], { YES: 0.6, NO: 0.2 }],
    ['a line end between', ['<judgement>', '\n'], { YES: 0.6, NO: 0.2 }],
    ['a byte-level space between', ['<judgement>', '\u0120'], { YES: 0.6, NO: 0.2 }],
    ['tag end and verdict in one token', ['<judgement'], { '>YES': 0.6, '>NO': 0.2, YES: 0.1 }],
    ['verdict in two tokens', ['<judgement>'], { Y: 0.6, N: 0.2 }],
    ['verdict and end tag in one', ['<judgement>'], { 'YES</': 0.6, 'NO</': 0.2 }],
    [
      'after a thought that mentions another verdict',
      ['<think>', '<judgement>', 'NO', '</think>', '<judgement>'],
      { YES: 0.6, NO: 0.2 },
    ],
    ['the last of two', ['<judgement>', 'NO', '</judgement>', '<judgement>'], { YES: 0.6, NO: 0.2 }],
  ])('%s', (_name, before, probabilities) => {
    expect(judge(probabilities, before)).toEqual(read(0.75, 0.8));
  });
});

it('sums spellings, and counts no word that only begins alike', () => {
  const yes = {
    YES: 0.2,
    ' YES': 0.1,
    Yes: 0.05,
    yes: 0.05,
    '\u2581YES': 0.05,
    '\u0120YES': 0.05,
    'YES</': 0.05,
    '\nYE': 0.05,
  };
  const no = { NO: 0.1, ' no': 0.05, N: 0.05 };
  const neither = { NOT: 0.05, Yesterday: 0.05, YES_: 0.01, NO1: 0.01, 'Y<': 0.01, '</': 0.01, ' ': 0.01 };
  expect(judge({ ...yes, ...no, ...neither })).toEqual(read(0.6 / 0.8, 0.8));
});

it('counts the sampled token once, listed or not', () => {
  const no = { token: 'NO', logprob: Math.log(0.2) };
  const yes = { token: 'YES', logprob: Math.log(0.6) };
  const unlisted = [...TAG.map(plain), { ...yes, top: [no] }];
  const listed = [...TAG.map(plain), { ...yes, top: [yes, no] }];
  expect(readJudgement(unlisted)).toEqual(read(0.75, 0.8));
  expect(readJudgement(listed)).toEqual(read(0.75, 0.8));
});

describe('says that it cannot read', () => {
  it.each<[string, readonly TokenLogprob[] | null]>([
    ['no log-probabilities', null],
    ['nothing generated', []],
    ['no tag', ['The', ' patch', ' YES'].map(plain)],
    ['nothing after the tag', TAG.map(plain)],
    ['only space after the tag', [...TAG, ' ', '\n'].map(plain)],
    ['neither YES nor NO', [...TAG.map(plain), position({ MAYBE: 0.9, '</': 0.1 })]],
    [
      'no probability left',
      [...TAG.map(plain), { token: 'YES', logprob: -9999, top: [{ token: 'NO', logprob: -9999 }] }],
    ],
    ['a verdict inside an unfinished thought', ['<think>', '<judgement>', 'YES'].map(plain)],
    ['a verdict only inside the thought', ['<think>', '<judgement>', 'YES', '</think>', 'done'].map(plain)],
  ])('%s', (_name, tokens) => {
    expect(readJudgement(tokens)).toEqual(unreadable);
  });
});

const spelling = fc.constantFrom(
  'YES',
  ' YES',
  'Yes',
  'yes',
  '\u2581YES',
  'YES</',
  'Y',
  'NO',
  ' NO',
  'No',
  'no',
  'NO</',
  'N',
);
const other = fc.constantFrom('NOT', 'Maybe', '', ' ', '<', '1', 'é', '\u0000');
const logprob = fc.oneof(fc.double({ min: -800, max: 0, noNaN: true }), fc.constant(-9999), fc.constant(0.0001));
const entries = (token: fc.Arbitrary<string>): fc.Arbitrary<{ token: string; logprob: number }[]> =>
  fc.uniqueArray(fc.record({ token, logprob }), { maxLength: 20, selector: (entry) => entry.token });

describe('for any answer', () => {
  it('is a probability with a mass, or unreadable; never NaN', () => {
    const token = fc.oneof(
      spelling,
      other,
      fc.string({ maxLength: 6 }),
      fc.constantFrom(...TAG, '<judgement>', '</think>'),
    );
    const generated = fc.record({ token, logprob, top: entries(token) });
    fc.assert(
      fc.property(fc.array(generated, { maxLength: 12 }), fc.boolean(), (tokens, tagged) => {
        const judgement = readJudgement(tagged ? [...TAG.map(plain), ...tokens] : tokens);
        if (judgement.kind === 'unreadable') return judgement.detail !== '';
        const { yes, mass } = judgement;
        return yes >= 0 && yes <= 1 && mass > 0 && mass <= 1;
      }),
    );
  });

  it('is the brute-force sum over spellings', () => {
    fc.assert(
      fc.property(entries(fc.oneof(spelling, other)), (top) => {
        const sum = (letter: string): number =>
          top
            .filter(({ token }) => /^[\s\u2581]*(YES|Yes|yes|Y|NO|No|no|N)(<\/)?$/.test(token))
            .filter(({ token }) =>
              token
                .replace(/[\s\u2581]/g, '')
                .toUpperCase()
                .startsWith(letter),
            )
            .reduce((total, entry) => total + Math.exp(Math.min(0, entry.logprob)), 0);
        const judgement = readJudgement([...TAG.map(plain), { token: 'Maybe', logprob: -1, top }]);
        const [yes, no] = [sum('Y'), sum('N')];
        if (yes + no === 0) return judgement.kind === 'unreadable';
        return judgement.kind === 'read' && Math.abs(judgement.yes - yes / (yes + no)) < 1e-12;
      }),
    );
  });

  it('never falls when YES becomes likelier', () => {
    fc.assert(
      fc.property(
        entries(fc.oneof(spelling, other)),
        logprob,
        fc.double({ min: 0, max: 50, noNaN: true }),
        (top, low, more) => {
          const others = top.filter(({ token }) => token !== 'YES');
          const at = (p: number): number => {
            const alternatives = [...others, { token: 'YES', logprob: Math.min(0, p) }];
            const judgement = readJudgement([...TAG.map(plain), { token: 'Maybe', logprob: -1, top: alternatives }]);
            return judgement.kind === 'read' ? judgement.yes : 0;
          };
          return at(low + more) >= at(low) - 1e-12;
        },
      ),
    );
  });
});
