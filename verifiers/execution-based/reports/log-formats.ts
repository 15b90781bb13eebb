import { parseCLog, parseCppLog } from './c-log.js';
import { parseCargoLog } from './cargo-log.js';
import { parseDartLog } from './dart-log.js';
import { parseGoLog } from './go-log.js';
import { parseHaskellLog, parseHspecTree } from './haskell-log.js';
import { parseJavaLog, parseJunitLog } from './java-log.js';
import { parseJavaScriptFailures, parseJavaScriptLog } from './javascript-log.js';
import { parseJsonLog } from './json-log.js';
import { parseClojureLog, parseScalaLog } from './jvm-logs.js';
import { decodeLog } from './log-lines.js';
import { parseOcamlLog } from './ocaml-log.js';
import {
  parseCsharpLog,
  parseElixirLog,
  parseJuliaLog,
  parseLuaLog,
  parseRCheckLog,
  parseRLog,
  parseSwiftLog,
} from './other-logs.js';
import { parsePhpLog } from './php-log.js';
import { parsePytestLog } from './pytest-log.js';
import { parseCucumberLog, parseRubyLog } from './ruby-log.js';
import { parseSympyLog } from './sympy-log.js';
import { type TestLog, TooMuchError } from './test-log.js';
import { parseDjangoLog } from './unittest-log.js';

type Exits = readonly [least: number, most: number];

/** How one kind of log is read. */
interface Format {
  readonly read: (log: string) => TestLog;
  /** Smallest and largest exit code, besides 1, with which its runners report failed tests. */
  readonly exits: Exits;
  /** Parsers of SWE-bench 5, Multilingual and Multimodal, without `parse_log_`. */
  readonly sweBench?: string;
  /** Parsers of SWE-rebench V2, as they are called there, without `parse_log_`. */
  readonly sweRebench?: string;
  /** Languages of Multi-SWE-bench. */
  readonly multi?: string;
}

const ONE: Exits = [1, 1];
/** Of runners that count failures, or are started by `make` and scripts. */
const ANY: Exits = [1, 255];

const FORMATS = {
  pytest: {
    read: parsePytestLog,
    exits: ONE,
    sweBench:
      'pytest pytest_options pytest_v2 seaborn matplotlib astroid flask marshmallow pvlib pyvista sqlfluff xarray pydicom requests pylint astropy scikit sphinx',
    sweRebench: 'pytest pytest_options pytest_v2 pytest_nebo cpp',
    multi: 'python',
  },
  unittest: { read: parseDjangoLog, exits: ONE, sweBench: 'django' },
  sympy: { read: parseSympyLog, exits: ONE, sweBench: 'sympy' },
  go: { read: parseGoLog, exits: ONE, sweBench: 'gotest', sweRebench: 'gotest', multi: 'go' },
  cargo: { read: parseCargoLog, exits: [101, 101], sweBench: 'cargo', sweRebench: 'cargo', multi: 'rust' },
  javascript: {
    read: parseJavaScriptLog,
    exits: ANY,
    sweBench:
      'calypso carbon grommet highlightjs lighthouse next prismjs quarto_cli react_pdf jest jest_json vitest karma tap immutable_js',
    sweRebench: 'calypso react_pdf jest jest_json vitest karma tap js js_2 js_3 js_4 npx',
    multi: 'javascript typescript js ts html',
  },
  'javascript-failures': {
    read: parseJavaScriptFailures,
    exits: ANY,
    sweBench: 'bpmn_js eslint openlayers chart_js marked p5js',
    sweRebench: 'chart_js marked p5js',
  },
  java: {
    read: parseJavaLog,
    exits: ONE,
    sweBench: 'maven ant gradle_custom',
    sweRebench:
      'maven ant gradle_custom gradlew_v1 parse_java_mvn java_mvn parse_java_mvn_v2 java_mvn_v2 parse_logs_kotlin_junit kotlin_junit',
    multi: 'java kotlin',
  },
  junit: {
    read: parseJunitLog,
    exits: ANY,
    sweRebench: 'parse_combined_test_reports sbt junit parse_logs_r_junit r_junit',
  },
  ctest: {
    read: parseCLog,
    exits: ANY,
    sweBench: 'redis jq doctest micropython_test googletest',
    sweRebench: 'redis jq doctest micropython_test googletest cpp_v2 cpp_v4',
    multi: 'c cpp c++',
  },
  cpp: { read: parseCppLog, exits: ANY, sweRebench: 'cpp_v3' },
  json: { read: parseJsonLog, exits: ANY },
  ruby: {
    read: parseRubyLog,
    exits: ANY,
    sweBench: 'minitest ruby_unit rspec_transformed_json',
    sweRebench: 'minitest ruby_unit rspec_transformed_json ruby_v1 ruby_v2',
    multi: 'ruby',
  },
  cucumber: { read: parseCucumberLog, exits: ANY, sweBench: 'cucumber jekyll', sweRebench: 'cucumber' },
  php: { read: parsePhpLog, exits: ANY, sweBench: 'phpunit', sweRebench: 'phpunit php_v1', multi: 'php' },
  csharp: { read: parseCsharpLog, exits: ANY, sweRebench: 'csharp', multi: 'csharp c#' },
  swift: { read: parseSwiftLog, exits: ANY, sweRebench: 'swift', multi: 'swift' },
  scala: { read: parseScalaLog, exits: ANY, sweRebench: 'scala scala_v2 scala_v3', multi: 'scala' },
  clojure: { read: parseClojureLog, exits: ANY, sweRebench: 'lein' },
  dart: { read: parseDartLog, exits: ANY, sweRebench: 'dart dart_v2 dart_v3' },
  elixir: { read: parseElixirLog, exits: ANY, sweRebench: 'elixir' },
  haskell: { read: parseHaskellLog, exits: ANY, sweRebench: 'haskell' },
  hspec: { read: parseHspecTree, exits: ANY, sweRebench: 'haskell_v2' },
  julia: { read: parseJuliaLog, exits: ANY, sweRebench: 'julia' },
  lua: { read: parseLuaLog, exits: ANY, sweRebench: 'parse_lue_nvim parse_lua_nvim lua_nvim' },
  ocaml: { read: parseOcamlLog, exits: ANY, sweRebench: 'ocaml ocaml_v2 ocaml_v3 ocaml_v4 ocaml_v5' },
  r: { read: parseRLog, exits: ANY, sweRebench: 'r' },
  'r-check': { read: parseRCheckLog, exits: ANY, sweRebench: 'r_v2' },
} as const satisfies Readonly<Record<string, Format>>;

/** How to read the log of a test command. */
export type LogFormat = keyof typeof FORMATS;

export const LOG_FORMATS: Readonly<Record<LogFormat, Format>> = FORMATS;

const PREFIX = 'parse_';

/** Names of parsers in full. */
export function parserNames(names = ''): readonly string[] {
  return names.split(' ').flatMap((name) => (name === '' ? [] : name.startsWith(PREFIX) ? name : `parse_log_${name}`));
}

const BY_NAME: ReadonlyMap<string, LogFormat> = new Map(
  (Object.entries(LOG_FORMATS) as readonly (readonly [LogFormat, Format])[]).flatMap(
    ([format, { sweBench, sweRebench, multi = '' }]) =>
      [
        format,
        ...parserNames(sweBench),
        ...parserNames(sweRebench),
        ...multi.split(' ').filter((name) => name !== ''),
      ].map((name) => [name, format] as const),
  ),
);

/** The format by its own name, the name of a data set's parser, or a language; null if none is called so. */
export function logFormatByName(name: string): LogFormat | null {
  return BY_NAME.get(name.trim()) ?? BY_NAME.get(name.trim().toLowerCase()) ?? null;
}

/** A comment in a command may name the format of its log. */
const NAMED = /#\s*log:\s*([\w-]+)/;

const RUNNERS: readonly (readonly [RegExp, LogFormat])[] = [
  [/\bruntests\.py\b/, 'unittest'],
  [/pytest/i, 'pytest'],
  [/sympy|bin\/test\b/i, 'sympy'],
  [/django|unittest/i, 'unittest'],
  [/\bgo test\b|gotest/i, 'go'],
  [/cargo|nextest/i, 'cargo'],
  [/cucumber/i, 'cucumber'],
  [/phpunit|\bpest\b|artisan test/i, 'php'],
  [/rspec|minitest|\brake\b|\bruby\b/i, 'ruby'],
  [/\bsbt\b/i, 'scala'],
  [/gradle|maven|\bmvnd?\b|java|\bant\b/i, 'java'],
  [/\bctest\b|\bmeson\b|gtest/i, 'ctest'],
  [/dotnet/i, 'csharp'],
  [/\bswift\b/i, 'swift'],
  [/\bmix test\b/i, 'elixir'],
  [/\blein\b/i, 'clojure'],
  [/\b(?:dart|flutter)\b/i, 'dart'],
  [/\b(?:cabal|stack)\b.*\btest\b/i, 'haskell'],
  [/\b(?:dune|alcotest)\b/i, 'ocaml'],
  [/\bjulia\b/i, 'julia'],
  [/\bR CMD check\b/, 'r-check'],
  [/\bRscript\b|testthat/i, 'r'],
  [/\bbusted\b|\bnvim\b/i, 'lua'],
  [/jest|vitest|mocha|karma|\bnpm |\bnpx |\byarn |\bpnpm |\bdeno |\bbun |\bnode |\btap\b/i, 'javascript'],
];

/** The format that a command names in a comment (`# log: tap`), else that of the runner it starts; null if unknown. */
export function logFormatOfCommand(command: string): LogFormat | null {
  const named = NAMED.exec(command)?.[1];
  if (named !== undefined) return logFormatByName(named);
  return RUNNERS.find(([pattern]) => pattern.test(command))?.[1] ?? null;
}

/** The results of a log in any encoding; null if it is not one of a test suite. */
export function readLog(format: LogFormat, bytes: Uint8Array): TestLog | null {
  try {
    return LOG_FORMATS[format].read(decodeLog(bytes));
  } catch (error) {
    if (error instanceof TooMuchError) return null;
    throw error;
  }
}
