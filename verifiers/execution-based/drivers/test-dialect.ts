import type { GeneratedTest, Trust } from '../../../src/core/run/generated-test.js';
import { sha256 } from '../../../src/core/identifier.js';
import { type Ids, type ExecRequest, WALL } from '../../../src/ports/sandbox.js';
import { commandEnvironment, commandLine, commandOf, END_ALL, type RunnableTest } from './command.js';
import { JAVASCRIPT_PRELOAD, JAVASCRIPT_SUITE_DRIVER } from './javascript.js';
import { PYTHON_SUITE_DRIVER } from './python.js';
import { BYTECODE_FOLDER } from '../execution-context.js';

export type TestLanguage = 'python' | 'javascript';

/** How generated tests of one language are run under the protocol of exit codes and nonces. */
export interface DrivenDialect {
  readonly name: TestLanguage;
  /** Of test scripts, with the dot. */
  readonly extensions: readonly string[];
  /** Files placed next to the scripts, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** Part of each result's key. */
  readonly hash: string;
  /** Shell code that runs the driver given as its arguments, in an environment that the repository cannot influence. */
  readonly shell: string;
  /** The driver's command line for these tests. */
  readonly driver: (call: DriverCall) => readonly string[];
}

export interface DriverCall {
  readonly folder: string;
  readonly workdir: string;
  /** CPU seconds per test. */
  readonly seconds: number;
  readonly tests: readonly GeneratedTest[];
  /** The user that runs the tests; null = the driver's own. */
  readonly user: Ids | null;
}

/** For all other tests: see command.ts. */
interface CommandDialect {
  readonly name: 'command';
  /** Part of each result's key. */
  readonly hash: string;
}

export type TestDialect = DrivenDialect | CommandDialect;

/**
 * Shell code before a dialect's own, for a driver that runs as root: `BESTK_HOME` is the home of the tests' user. Without
 * programs, because PATH is the image's.
 */
export function findHome({ uid }: Ids): string {
  const entry = `[ "$id" != ${uid} ] || { export BESTK_HOME="$home"; break; }`;
  return `[ "$HOME" != /root ] || while IFS=: read -r _ _ id _ _ home _; do ${entry}; done </etc/passwd; `;
}

// Not -I, which also ignores PYTHONHASHSEED. Root must not write bytecode: the tests' user could not replace it.
const PYTHON_SHELL =
  'export BESTK_PYTHONPATH="$PYTHONPATH" PYTHONDONTWRITEBYTECODE=1; unset PYTHONPATH PYTHONSTARTUP; exec "$@"';
const JAVASCRIPT_SHELL = 'HOME="${BESTK_HOME:-$HOME}"; unset NODE_OPTIONS NODE_PATH BESTK_HOME; exec "$@"';

function hashOf(...parts: readonly string[]): string {
  return sha256([findHome({ uid: 0, gid: 0 }), ...parts].join(''));
}

const PYTHON: DrivenDialect = {
  name: 'python',
  extensions: ['.py'],
  files: { 'driver.py': PYTHON_SUITE_DRIVER },
  hash: hashOf(PYTHON_SHELL, PYTHON_SUITE_DRIVER),
  shell: PYTHON_SHELL,
  driver: ({ folder, workdir, seconds, tests, user }) => [
    ...['python3', '-W', 'ignore', `${folder}/driver.py`],
    ...[folder, workdir, String(seconds), String(WALL * seconds), String(tests.length), nameOf(user)],
  ],
};

const JAVASCRIPT: DrivenDialect = {
  name: 'javascript',
  extensions: ['.mjs', '.cjs', '.js'],
  files: { 'driver.cjs': JAVASCRIPT_SUITE_DRIVER, 'preload.cjs': JAVASCRIPT_PRELOAD },
  hash: hashOf(JAVASCRIPT_SHELL, JAVASCRIPT_SUITE_DRIVER, JAVASCRIPT_PRELOAD),
  shell: JAVASCRIPT_SHELL,
  driver: ({ folder, workdir, seconds, tests, user }) => [
    ...['node', `${folder}/driver.cjs`, folder, workdir, String(seconds), String(WALL * seconds)],
    ...[String(tests.length), nameOf(user)],
    ...tests.map(({ path }) => extensionOf(path)),
  ],
};

function nameOf(user: Ids | null): string {
  return user === null ? '-' : `${user.uid}:${user.gid}`;
}

const COMMAND: CommandDialect = {
  name: 'command',
  hash: sha256(JSON.stringify([commandLine(''), commandEnvironment(''), END_ALL])),
};

const DRIVEN: readonly DrivenDialect[] = [PYTHON, JAVASCRIPT];

/** The dialect of a test, by its path or its command; null if its language has none. */
export function dialectOf(test: RunnableTest): TestDialect | null {
  const driven = DRIVEN.find(({ extensions }) => extensions.includes(extensionOf(test.path)));
  if (driven !== undefined && test.command === undefined) return driven;
  return commandOf(test) === null ? null : COMMAND;
}

/** How far its outcomes can be trusted. */
export function trustOf(test: RunnableTest): Trust {
  return dialectOf(test)?.name === 'command' ? 'command' : 'proof';
}

export function extensionOf(path: string): string {
  return /\.\w+$/.exec(path)?.[0] ?? '';
}

/**
 * The same for base and every candidate, so that only the patch can change an outcome: fixed hash seed, time zone and
 * locale. Git accepts repositories owned by another user.
 */
export const SUITE_ENV: Readonly<Record<string, string>> = {
  PYTHONHASHSEED: '0',
  TZ: 'UTC',
  LC_ALL: 'C.UTF-8',
  PYTHONDONTWRITEBYTECODE: '',
  PYTHONPYCACHEPREFIX: BYTECODE_FOLDER,
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};

/**
 * Published SWE images keep the instance's interpreter in an environment that only an interactive shell activates;
 * R2E-Gym and SWE-bench use these directories. A missing directory changes nothing.
 */
const WITH_INSTANCE_PATH = [
  'for d in /opt/miniconda3/envs/testbed/bin /root/.venv/bin; do [ -d "$d" ] && PATH="$d:$PATH"; done',
  'export PATH',
  'exec "$@"',
].join('; ');

/** The same request, run with the instance's interpreter first on PATH. */
export function inInstanceEnvironment(request: ExecRequest): ExecRequest {
  return {
    ...request,
    argv: ['/bin/sh', '-c', WITH_INSTANCE_PATH, 'sh', ...request.argv],
    environment: 'image',
    env: { ...SUITE_ENV, ...request.env },
  };
}

const TAIL_CHARACTERS = 4_000;

/** End of a command's output, both streams, at most 4,000 characters: evidence for people, never for a score. */
export function logTail(output: { readonly stdout: string; readonly stderr: string }): string {
  const half = TAIL_CHARACTERS / 2;
  const stderr = output.stderr.slice(-Math.max(half, TAIL_CHARACTERS - output.stdout.length));
  const stdout = output.stdout.slice(-(TAIL_CHARACTERS - stderr.length));
  return [stdout, stderr].filter((text) => text !== '').join('\n');
}
