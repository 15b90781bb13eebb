import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dialectOf } from '../../../../verifiers/execution-based/drivers/test-dialect.js';

const NONCE = 'n'.repeat(48);

interface Reported {
  readonly i: number;
  readonly status: number;
  readonly said: string;
  readonly timed_out: boolean;
  readonly log: string;
}

/** What the driver says of scripts beside a repository whose `calc.cjs` is this; run by this machine's node. */
function drive(calc: string, scripts: Readonly<Record<string, string>>, seconds = 5): readonly Reported[] {
  const root = mkdtempSync(join(tmpdir(), 'bestk-js-root-'));
  const folder = mkdtempSync(join(tmpdir(), 'bestk-js-scratch-'));
  writeFileSync(join(root, 'calc.cjs'), calc);
  const tests = Object.entries(scripts).map(([path, content]) => {
    return { instance_id: 'i', test_id: path, path, content, author: null };
  });
  const dialect = dialectOf({ path: 'a.mjs', content: '' });
  if (dialect === null || dialect.name === 'command') throw new Error('scripts of Node have a driver');
  for (const [name, content] of Object.entries(dialect.files)) writeFileSync(join(folder, name), content);
  for (const [index, { path, content }] of tests.entries()) {
    writeFileSync(join(folder, `${index}${path.slice(path.lastIndexOf('.'))}`), content);
  }
  const [command = '', ...args] = dialect.driver({ folder, workdir: root, seconds, tests, user: null });
  const { stdout } = spawnSync(command, args, {
    cwd: root,
    input: tests.map(() => `${NONCE}\n`).join(''),
    encoding: 'utf8',
  });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Reported);
}

const RIGHT = 'exports.add = (a, b) => a + b;';
const WRONG = 'exports.add = (a, b) => a - b;';
const CJS = "const { add } = require(process.cwd() + '/calc.cjs');\nprocess.exit(add(2, 3) === 5 ? 0 : 2);\n";
const USE = "require(process.cwd() + '/calc.cjs')";
const MJS = `import { createRequire } from 'node:module';
const { add } = createRequire(process.cwd() + '/')('./calc.cjs');
await new Promise((go) => setTimeout(go, 5));
process.exit(add(2, 3) === 5 ? 0 : 2);
`;

const LATE = `setTimeout(() => process.exit(0), 0); ${WRONG}`;
const FAKE_PROCESS = 'const fake = Object.create(process, { exit: { value: process.exit.bind(process, 0) } });';
/** Code that says it is the test's, with its call at the place of the test's own. */
const NAMESAKE = `
const script = process.argv[1];
const filename = script.endsWith('.mjs') ? require('node:url').pathToFileURL(script).href : script;
const before = require('node:fs').readFileSync(script, 'utf8').split('exit')[0].replace(/[^\\n]/g, ' ');
const code = '(({exit}) => {'.padEnd(before.indexOf('\\n')) + before.slice(before.indexOf('\\n')) + 'exit(0) })';
setTimeout(require('node:vm').runInThisContext(code, { filename }), 0, process);
${WRONG}`;
const FORGED_STACK =
  'Object.defineProperty(Error, "prepareStackTrace", { get: () => () => [], set() {}, configurable: false });';
/** Natives that a careless preload would ask about its frames. */
const BLIND = `
Array.prototype.find = () => undefined; Array.prototype.filter = Array.prototype.map = () => [];
Array.prototype.some = () => false; Array.prototype.every = () => true; Array.isArray = () => true;
String.prototype.startsWith = () => false; String.prototype.slice = () => 'exit';
require('node:path').isAbsolute = () => false;`;
/** The proof of a test that failed, turned into one of a test that passed. */
const LISTENING = `
const fs = require('node:fs');
const binding = process.binding('fs');
const { writeString } = binding;
binding.writeString = (fd, text, ...rest) => {
  const changed = String(text).endsWith(' 2') ? text.slice(0, -1) + '0' : text;
  writeString.call(binding, fd, changed, ...rest);
  process.reallyExit(0);
};
${WRONG}`;

describe('tests in JavaScript', () => {
  it.each([
    ['a.cjs', CJS],
    ['a.js', CJS],
    ['a.mjs', MJS],
  ])('prove their own end: %s', (path, content) => {
    expect(drive(RIGHT, { [path]: content })).toMatchObject([{ i: 0, status: 0, said: `${NONCE} 0` }]);
    expect(drive(WRONG, { [path]: content })).toMatchObject([{ i: 0, status: 2, said: `${NONCE} 2` }]);
  });

  it.each([
    ['leaves when it is loaded', 'process.exit(0);'],
    ['leaves when it is called', 'exports.add = () => process.exit(0);'],
    ['leaves by the engine', 'exports.add = () => process.reallyExit(0);'],
    ['leaves from a timer', 'setTimeout(() => process.exit(0)); exports.add = () => { for (;;) {} };'],
    ['puts another exit in its place', `process.exit = () => process.reallyExit(0);\n${WRONG}`],
    ['throws', 'exports.add = () => { throw new Error("no"); };'],
    ['prints what others look for', `console.log("PASSED\\nok 1"); ${WRONG}`],
    ['ends the process from a handler', `process.on("exit", () => process.reallyExit(0)); ${WRONG}`],
    ['hands exit to a timer', `setTimeout(process.exit, 0, 0); ${WRONG}`],
    ['hands exit to an immediate', `setImmediate(process.exit, 0); ${WRONG}`],
    ['hands exit to the next tick', `process.nextTick(process.exit, 0); ${WRONG}`],
    ['hands exit to a promise', `Promise.resolve(0).then(process.exit); ${WRONG}`],
    ['hands exit to a microtask', `queueMicrotask(process.exit.bind(null, 0)); ${WRONG}`],
    [
      'hands exit to an event',
      `process.on("x", process.exit); setTimeout(process.emit.bind(process), 0, "x", 0); ${WRONG}`,
    ],
    ['hands exit to a function without a file', `setTimeout(new Function("process.exit(0)"), 0); ${WRONG}`],
    ['makes its function the exit', 'exports.add = process.exit.bind(process, 0);'],
    ['makes a function of its own named exit', 'exports.add = function exit() { (0, process.exit)(0); };'],
    ['exits when its result is compared', 'exports.add = () => ({ valueOf: process.exit.bind(process, 0) });'],
    ['exits when a field is read', 'Object.defineProperty(exports, "add", { get: process.exit.bind(process, 0) });'],
    ['exits when it is awaited', `exports.then = process.exit.bind(process, 0); ${WRONG}`],
    ['puts another process in its place', `${FAKE_PROCESS} try { globalThis.process = fake; } catch {} ${WRONG}`],
    [
      'defines another process in its place',
      `${FAKE_PROCESS} try { Object.defineProperty(globalThis, "process", { value: fake }); } catch {} ${WRONG}`,
    ],
    ['names its own script like the test', NAMESAKE],
    ['forges the stack', `Error.prepareStackTrace = () => []; ${LATE}`],
    ['forges the stack for good', `${FORGED_STACK} ${LATE}`],
    ['cuts the stack', `Object.defineProperty(Error, "stackTraceLimit", { value: 0 }); ${LATE}`],
    ['replaces captureStackTrace', `Error.captureStackTrace = (o) => { o.stack = []; }; ${LATE}`],
    ['replaces Error', `globalThis.Error = class extends Error {}; ${LATE}`],
    ['replaces what finds its frames', `${BLIND} ${LATE}`],
    ['listens to what is written', LISTENING],
  ])('prove nothing for code that %s', (_name, calc) => {
    for (const path of ['a.cjs', 'a.mjs']) {
      for (const { said } of drive(calc, { [path]: path === 'a.cjs' ? CJS : MJS }, 1)) {
        expect(said).not.toBe(`${NONCE} 0`);
      }
    }
  });

  it.each([
    ['Error.prepareStackTrace = () => "";'],
    ['Error.stackTraceLimit = 0;'],
    ['Error.captureStackTrace = () => {};'],
    ['Object.prototype.get = () => 1;'],
    ['Array.prototype.find = () => "x"; String.prototype.startsWith = () => true;'],
  ])('prove their end whatever the repository does to errors: %s', (tampering) => {
    for (const [path, content] of [
      ['a.cjs', CJS],
      ['a.mjs', MJS],
    ] as const) {
      expect(drive(`${tampering} ${WRONG}`, { [path]: content })).toMatchObject([{ status: 2, said: `${NONCE} 2` }]);
    }
  });

  it.each([
    ['by a helper of their own', 'const end = (ok) => { process.exit(ok ? 0 : 2); };\nend(true);'],
    ['by its name alone', "const { exit } = require('node:process');\nexit(0);"],
    ['behind what they awaited', '(async () => { await null; await 1; process . exit ( 0 ); })();'],
    ['in a callback', 'setTimeout(() => globalThis.process?.exit(0), 1);'],
    ['with the code they set', 'process.exitCode = 0; process.exit();'],
    ['with text', "process.exit('0');"],
    ['behind a byte-order mark', '\uFEFFprocess.exit(0);'],
    ['beside other letters', '/* 😀 é */ process.exit(0);'],
  ])('may leave %s', (_name, content) => {
    const tests = content.includes('require(') ? { 'a.cjs': content } : { 'a.cjs': content, 'a.mjs': content };
    expect(drive(RIGHT, tests)).toMatchObject(
      Object.keys(tests).map(() => ({ said: `${NONCE} 0`, status: 0, log: '' })),
    );
  });

  it.each([
    ['hand exit on', 'Promise.resolve(0).then(process.exit);', 'was not called by the test'],
    ['leave without a status', 'process.exit({ valueOf: () => 0 });', 'no status from 0 to 255'],
    ['leave below the repository', `${USE}.call(() => process.exit(0));`, 'calc.cjs'],
    ['leave below code that hides itself', `${USE}.hide(() => process.exit(0));`, 'an unknown place'],
  ])('may not %s; the log says why', (_name, content, problem) => {
    const calc = `exports.call = (f) => f();
exports.hide = (f) => { Object.defineProperty(Error, 'stackTraceLimit', { value: 1, writable: false, configurable: false }); f(); };`;
    const [report] = drive(calc, { 'a.cjs': content });
    expect(report).toMatchObject({ status: 70, said: '' });
    expect(report?.log).toContain(problem);
  });

  it('that fall off their end, break or hang have no proof; behind a hanging one none is run', () => {
    const reports = drive(
      RIGHT,
      {
        'falls.cjs': 'require(process.cwd() + "/calc.cjs");',
        'breaks.cjs': 'def (',
        'hangs.cjs': 'setInterval(() => {}, 1000);',
        'last.cjs': CJS,
      },
      1,
    );
    expect(reports.map(({ said, timed_out }) => [said, timed_out])).toEqual([
      ['', false],
      ['{"raises":"SyntaxError"}\n', false],
      ['', true],
    ]);
    expect(reports[1]?.log).toContain('SyntaxError');
  });

  it('have their seconds of the CPU, whatever the clock says', () => {
    const limits = 'console.log(require("fs").readFileSync("/proc/self/limits", "utf8").match(/^Max cpu.*/m)[0]);';
    const reports = drive(RIGHT, { 'asks.cjs': limits, 'spins.cjs': 'while (true);' }, 1);
    expect(reports.map(({ timed_out }) => timed_out)).toEqual([false, true]);
    expect(reports[0]?.log).toMatch(/^Max cpu time +1 +3 /);
  });

  it.each([
    ['new TypeError("no")', '{"raises":"TypeError"}'],
    ['new (class Odd extends TypeError {})("no")', '{"raises":"Odd"}'],
    ['new (class TypeError extends Error {})("no")', '{"raises":"not TypeError"}'],
    ['Object.assign(new Error("no"), { constructor: TypeError })', '{"raises":"Error"}'],
  ])('observe a class by what it is, not by its name alone: %s', (made, said) => {
    const observing = "require(process.cwd() + '/calc.cjs'); observe(() => globalThis.fail());";
    expect(drive(`globalThis.fail = () => { throw ${made}; };`, { 'a.cjs': observing })).toMatchObject([
      { said: `${said}\n` },
    ]);
  });

  it.each([
    [
      'worker',
      'new (require("worker_threads").Worker)(__filename).on("message", done)',
      'worker_threads").parentPort.postMessage',
    ],
    ['fork', 'require("child_process").fork(__filename).on("message", done)', 'process").send'],
  ])('leave alone what the repository starts beside them: a %s', (_name, start, answer) => {
    const calc = `if (require("worker_threads").isMainThread && !process.send) exports.add = (a, b) => new Promise((done) => ${start});
else require("${answer}(5);`;
    const content =
      "require(process.cwd() + '/calc.cjs').add(2, 3).then((sum) => { process.exit(sum === 5 ? 0 : 2); });";
    expect(drive(calc, { 'a.cjs': content }, 2)).toMatchObject([{ status: 0, said: `${NONCE} 0` }]);
  });

  it('each have a process and a nonce of their own', () => {
    const reads =
      "const fs = require('fs'); process.exit(fs.readFileSync(0, 'utf8') === '' && !/NONCE|BESTK/.test(Object.keys(process.env)) ? 0 : 2);";
    expect(drive(RIGHT, { 'a.cjs': reads, 'b.cjs': CJS }).map(({ said }) => said)).toEqual([
      `${NONCE} 0`,
      `${NONCE} 0`,
    ]);
  });
});

it.each([
  ['a.py', 'python'],
  ['a.mjs', 'javascript'],
  ['a.rb', 'command'],
  ['Makefile', undefined],
])('the language of %s is %s', (path, name) => {
  expect(dialectOf({ path, content: '' })?.name).toBe(name);
});
