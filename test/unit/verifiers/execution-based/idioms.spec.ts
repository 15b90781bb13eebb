import { failingTwin } from '../../../../verifiers/execution-based/drivers/command.js';
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

it.each([
  ['x_test.go', 'package x\n', 'package x\n\nfunc TestX1(t *testing.T) { t.Fatal("X1") }\n'],
  ['x.rs', 'use x;\n', 'use x;\n\n#[test]\nfn tX1() {\n    panic!("X1");\n}\n'],
  ['x.rs', 'fn main() { std::process::exit(0) }', null],
  ['x.c', 'int main(void) { return f(); }', '#undef main\nint main(void) { tX1(); return 2; }\n'],
  ['x.cc', 'int main(int c, char **v) {}', '#undef main\nint main(int n, char **v) { tX1(n, v); return 2; }\n'],
  ['x.c', 'int main(void) { exit(f()); }', null],
  ['x.rb', 'exit f\n', 'def exit_X1(*_); exit(2); end\nexit_X1 f\n\nexit(2)\n'],
  ['x.rb', 'at_exit { f }\n', null],
  ['x.rb', 'exit! f\n', null],
  ['x.rb', "require 'test/unit'\n", null],
  ['x.rb', "require 'minitest/spec'\n", null],
  ['x.rb', "require 'test_helper'\n", null],
  ['x_spec.rb', '', "RSpec.describe('X1') { it('X1') { expect('X1').to be_nil } }\n"],
  ['x.c', 'int main(void) { execv(f, g); }', null],
  ['x.sh', 'exec f\n', '(\nexec f\n\n)\nexit 2\n'],
  ['x.sh', 'set -e\n. ./lib.sh\n', null],
  ['x.py', 'f()\n', null],
])('the failing test of %s with %j it ends with %j, or is none', (path, content, end) => {
  const twin = failingTwin({ path, content }, 'X1');
  expect(twin?.slice(-(end ?? '').length) ?? null).toBe(end);
});

const JUNIT_4 = 'import org.junit.Test;\npublic class X ';
const JUNIT_5 = 'import org.junit.jupiter.api.*;\nclass XTest ';

it.each([
  ['x.java', `${JUNIT_4}{ int a; }\nclass Helper { }\n`, '@org.junit.Test public void testX1()'],
  ['x.java', JUNIT_4.replace('X ', 'X extends TestCase {\n}\n'), '@org.junit.Test public void testX1()'],
  ['a/XTest.java', `${JUNIT_5}{ class Inner { } }\n`, '@org.junit.jupiter.api.Test public void testX1()'],
  ['X.java', 'import junit.framework.*;\npublic class X extends TestCase { }\n', 'public void testX1()'],
])('the failing test of %s, %j, it is a method of the class that the runner is given', (path, content, method) => {
  const at = content.indexOf('{') + 1;
  const failing = `\n${method} { throw new AssertionError("X1"); }\n`;
  expect(failingTwin({ path, content }, 'X1')).toBe(`${content.slice(0, at)}${failing}${content.slice(at)}`);
});

it.each([
  ['x.java', 'class X { }'],
  ['Other.java', JUNIT_5],
  ['x.java', `import org.junit.runner.RunWith;\n@RunWith(Suite.class) ${JUNIT_4}{ }`],
  ['x.java', `import org.testng.annotations.Test;\n${JUNIT_4}{ }`],
  ['x.java', `${JUNIT_4}{ void f() { System.exit(0); } }`],
])('the failing test of %s, %j, there is none', (path, content) => {
  expect(failingTwin({ path, content }, 'X1')).toBeNull();
});
