import type { StructuredPatch } from 'diff';

/** Role of a changed file in verification, which applies only `source`. */
export type FileRole = 'source' | 'test' | 'runner-config';

/** Jest takes mocks of packages from `__mocks__` unasked. */
const TEST_DIRECTORIES = new Set(['tests', 'Tests', '__tests__', '__mocks__', '__snapshots__', 'testdata']);
/**
 * `test/` and `spec/` hold tests at the root of a repository or of one of its packages; below `src/` they are library
 * code.
 */
const TESTS_OF_PACKAGE = /^((packages|apps|libs|plugins|modules|crates|components)\/[^/]+\/)?(test|spec)\//;
/** Test-running code that a package ships in its own `tests/`, such as `astropy/tests/runner.py`. */
const SHIPPED_FOR_TESTS = /^((src|lib)\/)?\w+\/tests\/(runner|helper|command|plugin)s?\.py$/;
/** A JVM build's source sets of tests, such as `test`, `it`, `integrationTest` and `testFixtures`. */
const TEST_SOURCES = /(^|\/)src\/(test|it|test[A-Z]\w*|\w+Test|\w+[-_]tests?)\/(java|kotlin|scala|groovy|resources)\//;
/** Classes named as tests; a `Spec` of Java is rarely one. */
const TEST_CLASS = /^(\w*[a-z0-9](Test|Tests|TestCase|IT)|\w+Spec(?!\.java))\.(java|kt|scala|groovy)$|^\w+Test\.php$/;
/** Libraries have such names as well (TestNG's `TestNG.java`, Play's `TestController.scala`). */
const TEST_CLASS_IN_TESTS = /^Test[A-Z]\w*\.(java|kt|scala|groovy)$/;
/** Not `kotlinx-coroutines-test` or `spring-test`, which are libraries. */
const TESTS_FOLDER = /^(test|([\w.-]+[-_])?tests|(\w*[a-z0-9])?Tests?)$/;
/** Where a class with a test's name is library code: Twig ships a `src/TwigTest.php`. */
const SOURCES = /(^|\/)(src|app|lib|main)\//;
/** Where it is, whatever its package's name: JUnit ships a `TestCase.java`. */
const MAIN_SOURCES = /(^|\/)src\/(\w*[mM]ain|java)\//;
const TEST_FILES = [
  /^test_.*\.py$/,
  /^tests\.py$/,
  /_test\.(py|go|rb|c|cc|cpp)$/,
  /_spec\.rb$/,
  /\.(test|spec)\.[cm]?[jt]sx?$/,
  /\.snap$/,
];

/**
 * Files that decide which tests run and how. `setup.cfg`, `pyproject.toml` and `package.json` also hold other settings,
 * but context lines do not tell for certain which setting a hunk changes, so they are set apart whole: verification
 * uses the base's configuration, and the returned patch keeps the changes. `isSubject` is the one exception.
 */
const RUNNER_CONFIG = [
  /^conftest\.py$/,
  /^\.?pytest\.(ini|toml)$/,
  /^(tox|setup|mypy)\.(ini|cfg)$/,
  /^pyproject\.toml$/,
  /^package\.json$/,
  /^noxfile\.py$/,
  /\.pth$/,
  /^\.coveragerc$/,
  /^(nose2|nose|unittest)\.cfg$|^\.noserc$/,
  // Configuration that JavaScript's test runners load, and the bundlers and compilers behind them.
  /^(ava|babel|c8|cypress|jasmine|jest|karma|mocha|nightwatch|nyc|playwright|postcss|protractor|swc|tap|testcafe|vite|vitest|wdio|web-test-runner)\.(conf|config|preset|projects|setup|workspace)[\w.-]*\.[cm]?[jt]s(on)?$/,
  /^(jest-preset|cypress|jasmine|nightwatch)\.[cm]?js(on)?$|^tsconfig\.(jest|specs?|tests?|vitest)\.json$/,
  /^setup-?(jest|vitest|tests?)\.[cm]?[jt]sx?$/i,
  /^\.(babel|c8|jest|mocha|nyc|postcss|swc|tap|testcafe)rc(\..*)?$/,
  // Options of Node, which package managers, Bun and Vite read here.
  /^\.(npm|yarn)rc(\.yml)?$|^\.pnp(mfile)?\.[\w.]+$|^bunfig\.toml$|^deno\.jsonc?$|^\.env(\.(development|local|production|test))*$/,
  // `.rspec` may say `--dry-run`, by which every example passes; PHPUnit's names what is loaded first.
  /^(\.rspec(-local)?|\.simplecov|phpunit(\.dist)?\.xml(\.dist)?|CTestCustom\.cmake|junit-platform\.properties)$/,
  // What starts Maven and Gradle; properties set the options of its JVM.
  /^(mvnw|gradlew|gradle\.properties|gradle-wrapper\.(jar|properties)|init\.gradle(\.kts)?)$/,
  // They choose the interpreter, the compiler or the modules, and may name one in the repository.
  /^\.(go|java|node|perl|php|python|ruby|tool)-versions?$|^rust-toolchain(\.toml)?$|^\.?mise(\.[\w.-]+)?\.toml$|^go\.work(\.sum)?$/,
  /^pyvenv\.cfg$/,
  /^\.git(attributes|modules|ignore)$/,
  // Compiled code is loaded before source of the same name, and cannot be reviewed.
  /\.(so(\.\d+)*|pyd|dll|dylib|node|pyc|pyo|class)$/,
];

/** Where Maven and Gradle write which tests passed. */
const REPORTS = /(^|\/)((surefire|failsafe)-reports|build\/test-results)\//;

/**
 * Modules of Python, its test runners and what these load: a new file of such a name next to the tests would shadow the
 * module.
 */
const OTHERS_MODULES = new Set(
  `
  __future__ _aix_support _android_support _apple_support _bootsubprocess _collections_abc _colorize _compat_pickle
  _compression _distutils_hack _ios_support _markupbase _opcode_metadata _osx_support _py_abc _py_warnings _pydatetime
  _pydecimal _pyio _pylong _pyrepl _sitebuiltins _strptime _sysconfigdata _threading_local _weakrefset annotationlib
  antigravity this turtledemo

  abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect bz2 calendar cgi
  cgitb chunk cmath cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib
  contextvars copy copyreg cProfile crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils
  doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools
  gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp
  importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal
  math mimetypes mmap modulefinder multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator
  optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint
  profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource
  rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
  socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct
  subprocess sunau symtable sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap threading time
  timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata unittest
  urllib uu uuid venv warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib
  zoneinfo

  allure_pytest anyio apipkg asynctest atomicwrites attr attrs colorama coverage exceptiongroup execnet faker funcsigs
  hypothesis importlib_metadata importlib_resources iniconfig mock more_itertools nose nose2 packaging parameterized
  pathlib2 pkg_resources pluggy psutil py pygments respx scandir setuptools six sortedcontainers sybil syrupy tblib toml
  tomli tomllib typeguard typing_extensions unittest2 wcwidth xdist zipp
`
    .trim()
    .split(/\s+/),
);

/** Role of a path, by its name only: `django/test/`, `sympy/testing/` and `pkg/test.py` are library code. */
export function roleOf(path: string): FileRole {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  if (
    RUNNER_CONFIG.some((pattern) => pattern.test(name)) ||
    isContinuousIntegration(path) ||
    parts.some(isStartUp) ||
    VIRTUAL_ENVIRONMENT.test(path) ||
    /^(bin\/(doc)?test$|vendor\/bin\/|\.config\/nextest\.toml$|(\.mise|(\.config\/)?mise)\/.*\.toml$)/.test(path) ||
    REPORTS.test(path) ||
    standsForRunner(parts)
  ) {
    return 'runner-config';
  }
  return isTest(path) ? 'test' : 'source';
}

function isTest(path: string): boolean {
  const [name = '', ...directories] = path.split('/').reverse();
  if (SHIPPED_FOR_TESTS.test(path)) return false;
  return (
    path === 'test.py' ||
    [TESTS_OF_PACKAGE, TEST_SOURCES].some((pattern) => pattern.test(path)) ||
    directories.some((directory) => TEST_DIRECTORIES.has(directory)) ||
    TEST_FILES.some((pattern) => pattern.test(name)) ||
    isTestClass(path, name, directories)
  );
}

function isTestClass(path: string, name: string, directories: readonly string[]): boolean {
  if (MAIN_SOURCES.test(path)) return false;
  const isInTests = directories.some((directory) => TESTS_FOLDER.test(directory));
  return isInTests
    ? [TEST_CLASS, TEST_CLASS_IN_TESTS].some((each) => each.test(name))
    : TEST_CLASS.test(name) && !SOURCES.test(path);
}

const MANIFEST = /^(setup\.cfg|pyproject\.toml|package\.json)$/;
/** Purposes of a manifest other than configuring tools. */
const PACKAGING =
  /\b((peer|dev)?dependenc(y|ies)|(install|python|extras?)_requires?|package_data|entry[ _-]?points?|build-system|packaging|wheel|sdist)\b/i;

/** Whether an issue is about a package's manifest: it names the file or mentions packaging. */
export function isSubject(path: string, statement: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return MANIFEST.test(name) && (statement.includes(name) || PACKAGING.test(statement));
}

/** Files that test runners load unasked or by the name of one of their own; on base, they are a library's source. */
const LOADED_BY_RUNNER = [
  /(^|\/)META-INF\/services\/org\.(junit|testng|spockframework)\./,
  /(^|\/)minitest\/\w+_plugin\.rb$/,
  /^lib\/(bundler(\/setup)?|minitest(\/\w+)?|rspec(\/(autorun|core|expectations|mocks|support))?|simplecov|test\/unit)\.rb$/,
];

/** Role of a file that a patch adds: a new module at the repository's root shadows others of its name. */
export function roleOfNew(path: string): FileRole {
  return isOthersModule(path) || LOADED_BY_RUNNER.some((pattern) => pattern.test(path))
    ? 'runner-config'
    : roleOf(path);
}

/** Whether this path, from a folder in which Python looks for modules, is that of a module of Python or its test runners. */
export function isOthersModule(path: string): boolean {
  const [, module = ''] = /^(\w+)(?:\/__init__)?\.py$/.exec(path) ?? [];
  return OTHERS_MODULES.has(module) || /^pytest_\w/.test(module);
}

/**
 * What Python runs at every start, a package tells pytest to load or pytest told itself, Node finds before a package of its name,
 * package managers install, or Bundler, Cargo and Maven are configured by.
 */
function isStartUp(part: string): boolean {
  return (
    /^(site|user)customize(\.|$)|\.(egg|dist)-info$/.test(part) ||
    /^(\.pytest_cache|__pycache__|\.venv|\.tox|\.nox|\.eggs|(site|dist)-packages|node_modules)$/.test(part) ||
    /^(\.bundle|\.cargo|\.mvn|\.yarn)$/.test(part)
  );
}

/** Virtual environments by their usual names, which are names of packages as well, and Python's library in others. */
const VIRTUAL_ENVIRONMENT =
  /(^|\/)(venv|virtualenv)\/(bin|lib|lib64|Lib|Scripts)\/|^env\/(bin|Scripts)\/|(^|\/)lib(64)?\/python\d+\.\d+\//;

/** A module at the repository's root that would be imported instead of the runner; pytest's own source is in `src/`. */
function standsForRunner([first = '']: readonly string[]): boolean {
  return /^(pytest|_pytest|unittest)(\.py)?$/.test(first);
}

function isContinuousIntegration(path: string): boolean {
  return /^\.(github|gitlab|circleci)\/|^\.(travis|gitlab-ci|appveyor)\.ya?ml$|^azure-pipelines\.ya?ml$/.test(path);
}

/** Scripts and notes that agents create while experimenting; only at the repository's root. */
const SCRATCH =
  /^(test|tests|repro|reproduce|reproduction|edge_?cases?|debug|verify|verification|validate|check|demo|scratch|tmp|temp|try|quick|simple|final|comprehensive|minimal|run|bug|issue|example)(_[^/]*|[0-9]*)?\.(py|sh|js|mjs|ts|txt|md|log|json|out|diff|patch|db|sqlite3?)$/i;

/** Whether an added file is such a scratch file. */
export function isScratch(path: string): boolean {
  return SCRATCH.test(path);
}

export type RefusalReason = 'too-large' | 'unparsable' | 'unsafe-path' | 'git-internals' | 'symlink' | 'submodule';

export interface Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;
}

const LONGEST_PATH = 4_096;

const SYMLINK = '120000';

const SUBMODULE = '160000';

/** The reason why a file's changes must not be applied anywhere, or null. */
export function refusalOf(paths: readonly string[], file: StructuredPatch): Refusal | null {
  for (const path of paths) {
    const refusal = pathRefusal(path);
    if (refusal !== null) return refusal;
  }
  const modes = [file.oldMode, file.newMode];
  const name = paths.at(-1) ?? '';
  if (modes.includes(SUBMODULE)) return { reason: 'submodule', detail: `"${name}" is a submodule` };
  return modes.includes(SYMLINK) ? symlinkRefusal(name, file) : null;
}

function pathRefusal(path: string): Refusal | null {
  const shown = path.slice(0, 200);
  if (path === '' || path.length > LONGEST_PATH || /[\u0000-\u001f\u007f\ufffd\\]/.test(path)) {
    return { reason: 'unsafe-path', detail: `"${shown}" is not a plain path` };
  }
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return { reason: 'unsafe-path', detail: `"${shown}" is absolute` };
  if (/(^|\/)\.{0,2}(\/|$)/.test(path)) {
    return { reason: 'unsafe-path', detail: `"${shown}" leaves the repository or is not normal` };
  }
  // Names that some file systems treat as `.git`.
  if (/(^|\/)(\.git|git~1)[. ]*(\/|$)/i.test(path)) {
    return { reason: 'git-internals', detail: `"${shown}" belongs to git itself` };
  }
  return null;
}

/**
 * Judges a link by its new target; a link that is kept or deleted cannot be written through. If a patch changes an
 * existing link without stating its mode, it looks like a regular file here: only git can tell.
 */
function symlinkRefusal(path: string, file: StructuredPatch): Refusal | null {
  if (file.isBinary === true) return { reason: 'symlink', detail: `"${path}" does not say in text where it points` };
  const added = file.hunks.flatMap(({ lines }) => lines.filter((line) => line.startsWith('+')));
  const target = added.map((line) => line.slice(1)).join('\n');
  if (added.length === 0) return null;
  if (target.startsWith('/')) return { reason: 'symlink', detail: `"${path}" points to "${target.slice(0, 200)}"` };
  let depth = path.split('/').length - 1;
  for (const part of target.split('/')) {
    if (part === '..') depth -= 1;
    else if (part !== '.' && part !== '') depth += 1;
    if (depth < 0) return { reason: 'symlink', detail: `"${path}" points out of the repository` };
  }
  return null;
}
