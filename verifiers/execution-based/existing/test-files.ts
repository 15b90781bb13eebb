/** What the extensions of a language's files of code are, behind the dot. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  python: 'py',
  go: 'go',
  rust: 'rs',
  javascript: '[cm]?[jt]sx?',
  jvm: '(java|kt|scala|groovy)',
  php: 'php',
  ruby: 'rb',
};

/** Paths of a language's code, for `grep -E`; of every language where nobody knows which one it is. */
export function codeOf(language: string | null): string {
  return String.raw`\.(${EXTENSIONS[language ?? ''] ?? Object.values(EXTENSIONS).join('|')})$`;
}

/** What defines a test, at the beginning of a line, for `grep -E`. */
export const DEFINES_TEST = String.raw`^[[:space:]]*((async )?def test|(it|test|describe)\(|#\[(tokio::)?test\])`;

/** Names under which the runners of Python, Go, JavaScript, the JVM's languages, PHP, Ruby and Rust look for tests. */
const NAMED_AS_TESTS: readonly RegExp[] = [
  /(^|\/)tests?(_[^/]*|[A-Z0-9][^/]*)?\.py$/,
  /_tests?\.py$/,
  /(^|\/)unittest_[^/]*\.py$/,
  /_test\.go$/,
  /[._-](test|spec)\.[cm]?[jt]sx?$/,
  /(^|\/)__tests__\/.*\.[cm]?[jt]sx?$/,
  /(^|\/)(Test[A-Z]\w*|\w+(Test|Tests|TestCase|IT|Spec))\.(java|kt|scala|php)$/,
  /(^|\/)(test_[^/]*|[^/]*_(spec|test))\.rb$/,
  /(^|\/)tests\/[^/]+\.rs$/,
];
/** What lies beside tests and is none, whatever its functions are called. */
const HELPER =
  /(^|\/)(__init__|__main__|conftest|models|urls|admin|forms|views|settings|apps|managers|fields|middleware|routers|serializers|signals|templatetags|utils?|helpers?|base|common|fixtures?|factories)\.\w+$/;
/** What tests read, which may look like tests; an application of Django's own suite is called `fixtures`. */
const READ_BY_TESTS =
  /(^|\/)(tests?|testing|spec|__tests__)\/(.*\/)?(__fixtures__|fixtures|data|example_scripts|roots)\/(?!tests\.py$)|(^|\/)testdata\//;
const BESIDE_TESTS = /(^|\/)(tests?|testing|spec)\//;

/**
 * Whether a file holds tests: by its name, or because it lies among tests and defines some. A file of Python always has to
 * define some: many projects have a `test.py` that ships.
 */
export function holdsTests(path: string, defining: ReadonlySet<string>): boolean {
  if (HELPER.test(path) || READ_BY_TESTS.test(path)) return false;
  const isNamed = NAMED_AS_TESTS.some((name) => name.test(path));
  return isNamed && !path.endsWith('.py') ? true : (isNamed || BESIDE_TESTS.test(path)) && defining.has(path);
}
