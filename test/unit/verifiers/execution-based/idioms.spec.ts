import { spawnSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { NEVER, OTHERS } from '../../../../verifiers/execution-based/generated/twins.js';

const STATUSES = ['0', '2', '0 if f() else 2', 'None', '1 == 1'];
const VALUES = ['0', '"a"', '[1]', 'None', '2.5'];

/** What Python expressions come to, in order. */
function python(expressions: readonly string[]): unknown {
  const code =
    'import json, sys; print(json.dumps([eval(each, {"f": lambda: True}) for each in json.load(sys.stdin)]))';
  const { stdout, stderr } = spawnSync('python3', ['-c', code], {
    input: JSON.stringify(expressions),
    encoding: 'utf8',
  });
  return stderr === '' ? JSON.parse(stdout) : stderr;
}

function javascript(expressions: readonly string[]): unknown {
  return expressions.map((each) => runInNewContext(`f = () => true; (${each})`) as unknown);
}

function filled(ways: readonly string[], values: readonly string[]): readonly string[] {
  return ways.flatMap((way) => values.map((value) => way.replace('@', value).replace('#', '57')));
}

const inJavaScript = (text: string): string =>
  text.replaceAll('0 if f() else 2', 'f() ? 0 : 2').replaceAll('None', 'null');

it('every way to leave with 2 does, whatever the status', () => {
  const texts = filled(NEVER.python, STATUSES);
  expect(python(texts)).toEqual(texts.map(() => 2));
  expect(javascript(filled(NEVER.javascript, STATUSES.map(inJavaScript)))).toEqual(
    filled(NEVER.javascript, STATUSES).map(() => 2),
  );
});

it('nothing that is said in the place of a value equals it', () => {
  const equal = (ways: readonly string[]): readonly string[] =>
    VALUES.flatMap((value) => filled(ways, [value]).map((text) => `(${value}) == ${text}`));
  expect(python(equal(OTHERS.python))).toEqual(equal(OTHERS.python).map(() => false));
  expect(javascript(equal(OTHERS.javascript).map(inJavaScript))).toEqual(equal(OTHERS.javascript).map(() => false));
});
