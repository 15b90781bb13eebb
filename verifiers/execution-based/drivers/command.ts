import type { GeneratedTest, TestReportKind } from '../../../src/core/run/generated-test.js';
import { withTestFiles } from '../../../src/core/run/issue.js';
import { readReportAs } from '../reports/test-report.js';

/*
 * Generated tests in languages without a driver: a file in the repository, a command, and a report. The process that
 * runs the code under test also writes the report (docs/decisions/0015).
 */

/** Defaults for running a language's tests. */
interface CommandLanguage {
  readonly extensions: readonly string[];
  /** Gets `{files}`, the test's quoted path from the repository's root, and the variables of `commandEnvironment`. */
  readonly command: string;
  readonly report: TestReportKind;
  /** Moves a test to a path where its runner finds it. */
  readonly place?: (path: string, content: string) => string;
  /** Adds a failure that is reported whatever honest code does; null if the test may end before it. */
  readonly failing: (content: string, name: string, path: string) => string | null;
  /** The failure is a further test in the report, so that base can show whether it is run and reported. */
  readonly namesFailing?: true;
}

const GO = `[ -d "$(go env GOCACHE)" ] || export GOCACHE="$BESTK_TMP/go-build"
names=$(sed -n 's/^func \\(Test[A-Za-z0-9_]*\\)(.*/\\1/p' {files} | tr '\\n' '|')
cd "$(dirname {files})" && go test -json -vet=off -count=1 -run "^($names)$" .`;

const RUST = `[ -d "\${CARGO_HOME:-$HOME/.cargo}" ] || export CARGO_HOME="$BESTK_TMP/cargo"
export CARGO_TARGET_DIR="$BESTK_TMP/target"
file={files}; folder=$(dirname "$file")
cd "$(dirname "$folder")" && cargo test --offline --test "$(basename "$file" .rs)"`;

/** Merges the JUnit files that Maven or Gradle wrote after the test was created. */
const MERGED = `{ echo '<testsuites>'
find . -name 'TEST-*.xml' -newer {files} -exec sed 's/<?xml[^>]*?>//; s/<\\/\\{0,1\\}testsuites[^>]*>//' {} \\;
echo '</testsuites>'; } >"$BESTK_REPORT"; exit "$ended"`;

/** Maven or Gradle; without either, javac and JUnit 4. */
const JAVA = `file={files}; name=$(basename "$file" .java)
package=$(sed -n 's/^ *package  *\\([A-Za-z0-9_.]*\\).*/\\1/p' "$file" | head -n 1)
class=\${package:+$package.}$name
if [ -f pom.xml ]; then
  mvn -o -B -q test -Dtest="$name" -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false; ended=$?
  ${MERGED}
fi
if [ -f build.gradle ] || [ -f build.gradle.kts ]; then
  gradle=gradle; [ -x gradlew ] && gradle=./gradlew
  $gradle --offline --continue test --tests "$class"; ended=$?
  ${MERGED}
fi
libraries="$PWD/lib/*:/usr/share/java/junit4.jar:/usr/share/java/hamcrest.jar:/usr/share/java/hamcrest-core.jar"
find . -name '*.java' ! -path './src/test/*' ! -path './test/*' ! -path "./$file" >"$BESTK_TMP/sources"
javac -nowarn -d "$BESTK_TMP/classes" -cp "$libraries" @"$BESTK_TMP/sources" "$file" || exit 1
java -cp "$BESTK_TMP/classes:$libraries" org.junit.runner.JUnitCore "$class" >"$BESTK_TMP/said"; ended=$?
cat "$BESTK_TMP/said"
case $(grep -E '^(OK \\(|FAILURES!!!)' "$BESTK_TMP/said") in
  OK*) [ "$ended" != 0 ] || echo "<testsuite><testcase name='$name'/></testsuite>" >"$BESTK_REPORT" ;;
  FAIL*) { echo "<testsuite><testcase name='$name'><failure/></testcase>"
    sed -n "s/^[0-9]*) \\([A-Za-z0-9_]*\\)(.*/<testcase name='\\1'><failure\\/><\\/testcase>/p" "$BESTK_TMP/said"
    echo '</testsuite>'; } >"$BESTK_REPORT" ;;
esac
exit "$ended"`;

/** Links the test with every library of the project. The project stays unchanged: a wrapper project includes it. */
function ctest(language: string): string {
  return `mkdir "$BESTK_TMP/project" && cat >"$BESTK_TMP/project/CMakeLists.txt" <<'END' || exit 1
cmake_minimum_required(VERSION 3.13)
project(bestk ${language})
enable_testing()
add_subdirectory("\${REPOSITORY}" repository EXCLUDE_FROM_ALL)
function(link_libraries_of folder)
  get_property(targets DIRECTORY "\${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type "\${target}" TYPE)
    if(type MATCHES "^(STATIC|SHARED|OBJECT|INTERFACE)_LIBRARY$")
      target_link_libraries(bestk_test PRIVATE "\${target}")
    endif()
  endforeach()
  get_property(folders DIRECTORY "\${folder}" PROPERTY SUBDIRECTORIES)
  foreach(inner IN LISTS folders)
    link_libraries_of("\${inner}")
  endforeach()
endfunction()
add_executable(bestk_test "\${TEST}")
target_include_directories(bestk_test PRIVATE "\${REPOSITORY}" "\${REPOSITORY}/include" "\${REPOSITORY}/src")
link_libraries_of("\${REPOSITORY}")
add_test(NAME bestk_test COMMAND bestk_test WORKING_DIRECTORY "\${REPOSITORY}")
END
build="$BESTK_TMP/build"; test="$PWD/"{files}
cmake -S "$BESTK_TMP/project" -B "$build" -DREPOSITORY="$PWD" -DTEST="$test" >"$BESTK_TMP/said" || { cat "$BESTK_TMP/said"; exit 1; }
cmake --build "$build" --target bestk_test >"$BESTK_TMP/said" || { cat "$BESTK_TMP/said"; exit 1; }
ctest --test-dir "$build" -R '^bestk_test$' --output-on-failure --output-junit "$BESTK_REPORT"`;
}

const RSPEC = `run=; [ -f Gemfile ] && bundle exec rspec --version >/dev/null 2>&1 && run='bundle exec'
$run rspec --format json {files}`;

const LANGUAGES = {
  go: {
    extensions: ['.go'],
    command: GO,
    report: 'go-test-json',
    place: (path) => (path.endsWith('_test.go') ? path : path.replace(/\.go$/, '_test.go')),
    failing: (content, name) => `${content}\nfunc Test${name}(t *testing.T) { t.Fatal("${name}") }\n`,
    namesFailing: true,
  },
  rust: {
    extensions: ['.rs'],
    command: RUST,
    report: 'cargo',
    place: (path) => {
      const [folder, name] = splitPath(path);
      return /(?:^|\/)tests\/$/.test(folder) ? path : `${folder}tests/${name}`;
    },
    failing: (content, name) =>
      /process::exit/.test(content) ? null : `${content}\n#[test]\nfn t${name}() {\n    panic!("${name}");\n}\n`,
    namesFailing: true,
  },
  java: {
    extensions: ['.java'],
    command: JAVA,
    report: 'junit',
    place: placeOfClass,
    failing: failingJava,
    namesFailing: true,
  },
  c: { extensions: ['.c'], command: ctest('C'), report: 'junit', failing: failingC },
  'c++': { extensions: ['.cc', '.cpp', '.cxx'], command: ctest('C CXX'), report: 'junit', failing: failingC },
  rspec: {
    extensions: ['_spec.rb'],
    command: RSPEC,
    report: 'rspec-json',
    failing: (content, name) =>
      /\bexit!|\bexec\b/.test(content)
        ? null
        : `${content}\nRSpec.describe('${name}') { it('${name}') { expect('${name}').to be_nil } }\n`,
    namesFailing: true,
  },
  ruby: { extensions: ['.rb'], command: 'ruby -Ilib {files}', report: 'exit-code', failing: failingRuby },
  shell: {
    extensions: ['.sh'],
    command: 'sh {files}',
    report: 'exit-code',
    // A sourced file may end the test itself; from any other, a subshell keeps the last word.
    failing: (content) => (/(?:^|[;&|])[ \t]*(?:\.|source)[ \t]/m.test(content) ? null : `(\n${content}\n)\nexit 2\n`),
  },
} as const satisfies Readonly<Record<string, CommandLanguage>>;

/** The folder with its trailing slash, empty for the root, and the file name. */
function splitPath(path: string): readonly [string, string] {
  const at = path.lastIndexOf('/') + 1;
  return [path.slice(0, at), path.slice(at)];
}

/** javac requires a public class in a file of the same name; Maven and Gradle expect it in its package's folder. */
function placeOfClass(path: string, content: string): string {
  const [folder, own] = splitPath(path);
  const named = /\bpublic (?:final )?class (\w+)/.exec(content)?.[1];
  const name = named === undefined ? own : `${named}.java`;
  if (folder !== '') return `${folder}${name}`;
  const packaged = /\bpackage ([\w.]+);/.exec(content)?.[1];
  return `src/test/java/${packaged === undefined ? '' : `${packaged.replaceAll('.', '/')}/`}${name}`;
}

/** In the class that the runner is given, first; JUnit 3 runs what is named `test…`, later ones what has their annotation. */
function failingJava(content: string, name: string, path: string): string | null {
  const [, own] = splitPath(placeOfClass(path, content));
  const found = [...content.matchAll(/\bclass (\w+)/g)].findLast(([, each = '']) => `${each}.java` === own);
  const end = found === undefined ? 0 : content.indexOf('{', found.index) + 1;
  const annotated = /^import (org\.junit\.(?:jupiter\.api\.)?)(?:Test|\*);/m.exec(content)?.[1];
  if (end === 0 || /@RunWith\b|\btestng\b|\.(?:exit|halt)\s*\(/.test(content)) return null;
  if (annotated === undefined && !/\bextends TestCase\b/.test(content.slice(found?.index, end))) return null;
  const test = `${annotated === undefined ? '' : `@${annotated}Test `}public void test${name}()`;
  return `${content.slice(0, end)}\n${test} { throw new AssertionError("${name}"); }\n${content.slice(end)}`;
}

/** A failing `main` calls the test's own one, so that the code under test is linked and run. */
function failingC(content: string, name: string): string | null {
  const [, given] = /\bint\s+main\s*\(([^)]*)\)/.exec(content) ?? [];
  if (given === undefined || /(?:exit|\bexec[lv]\w*)\s*\(/i.test(content)) return null;
  const [wanted, passed] = /^\s*(?:void\s*)?$/.test(given) ? ['void', ''] : ['int n, char **v', 'n, v'];
  return `#define main t${name}\n${content}\n#undef main\nint main(${wanted}) { t${name}(${passed}); return 2; }\n`;
}

/** What ends the process otherwise, or runs the tests only at its end, unless that is a failure. */
const RUBY_ENDS =
  /\bexit!|\.exit\b|\bexec\b|\bat_exit\b|\bautorun\b|\btest\/unit\b|\bminitest\b|\btest_helper\b|^__END__/m;

/** The test's own exits and its end fail; an exit of the code under test still passes. */
function failingRuby(content: string, name: string): string | null {
  if (RUBY_ENDS.test(content)) return null;
  const own = content.replaceAll(/\bexit\b/g, `exit_${name}`);
  return `def exit_${name}(*_); exit(2); end\n${own}\nexit(2)\n`;
}

/**
 * A test that fails whatever honest code does; null if none is likely to. Tests with their own command have
 * none, because it is unknown how the command reports a failure.
 * @param name of what is added, letters and digits; a different one each time
 */
export function failingTwin({ path, content, command }: RunnableTest, name: string): string | null {
  return command === undefined ? (languageOf(path)?.failing(content, name, path) ?? null) : null;
}

/** Whether the report names what `failingTwin` adds. */
export function namesFailing({ path }: RunnableTest): boolean {
  return languageOf(path)?.namesFailing ?? false;
}

export interface TestCommand {
  /** Shell command, run from the repository's root. */
  readonly command: string;
  readonly report: TestReportKind;
  /** The test and the files it needs, by path in the repository. */
  readonly files: Readonly<Record<string, string>>;
}

/** The members of a test that determine how it is run. */
export type RunnableTest = Pick<GeneratedTest, 'path' | 'content' | 'files' | 'command' | 'report'>;

/** How a test without a driver is run; null if neither it nor its language has a command. */
export function commandOf(test: RunnableTest): TestCommand | null {
  const { path, content, files, report } = test;
  const how = test.command === undefined ? byLanguage(test) : { command: test.command, report: EXIT_CODE, place: path };
  if (how === null) return null;
  const { command, place } = how;
  return {
    command: withTestFiles(command, [place]),
    report: report ?? how.report,
    files: { ...files, [place]: content },
  };
}

const EXIT_CODE: TestReportKind = 'exit-code';

function byLanguage({ path, content }: RunnableTest): (Omit<TestCommand, 'files'> & { readonly place: string }) | null {
  const language = languageOf(path);
  if (language === undefined) return null;
  const { command, report, place } = language;
  return { command, report, place: place === undefined ? path : place(path, content) };
}

function languageOf(path: string): CommandLanguage | undefined {
  return Object.values<CommandLanguage>(LANGUAGES).find(({ extensions }) =>
    extensions.some((extension) => path.endsWith(extension)),
  );
}

/** A file path of the test outside the repository or inside `.git`; null if there is none. */
export function strayPath({ files }: TestCommand): string | null {
  const isStray = (path: string): boolean => {
    const parts = path.split('/');
    return path.startsWith('/') || path.endsWith('/') || parts.includes('..') || parts.includes('.git');
  };
  return Object.keys(files).find(isStray) ?? null;
}

/** The same for every tree. Disables fetching: without a network some tools take minutes to give up. */
export function commandEnvironment(folder: string): Readonly<Record<string, string>> {
  return {
    BESTK_TMP: folder,
    BESTK_REPORT: `${folder}/report.xml`,
    TMPDIR: folder,
    GOPROXY: 'off',
    GOSUMDB: 'off',
    GOTOOLCHAIN: 'local',
    CARGO_NET_OFFLINE: 'true',
    CARGO_TERM_COLOR: 'never',
  };
}

/** Creates the command's temporary folder, which root can read. */
export function commandLine(command: string): readonly string[] {
  return ['sh', '-c', `umask 022; mkdir "$BESTK_TMP" || exit 126\n${command}`];
}

/** What is printed only after the last test: a panic in Go, or an abort in Rust, ends a run that has reported failures. */
const LAST_WORDS: Partial<Record<TestReportKind, RegExp>> = {
  'go-test-json': /"Output":"FAIL\\n"/,
  cargo: /^test result: /m,
};

export interface Reported {
  readonly outcome: 'solved' | 'not-solved' | 'crashed';
  /** Names of failed tests. */
  readonly failed: readonly string[];
  /** Whether it reports failed tests and all others that were to run. */
  readonly isWhole: boolean;
}

/** Combines the reported tests and the command's exit code into one outcome. */
export function outcomeOf(
  kind: TestReportKind,
  { exitCode, text }: { readonly exitCode: number; readonly text: string },
): Reported {
  if (kind === 'exit-code') {
    const outcome = exitCode === 0 ? 'solved' : exitCode === 2 ? 'not-solved' : 'crashed';
    return { outcome, failed: [], isWhole: false };
  }
  const report = [...readReportAs(kind, text)];
  const failed = report.flatMap(([name, status]) => (status === 'failed' ? [name] : []));
  const isSolved = exitCode === 0 && report.some(([, status]) => status === 'passed');
  const isWhole = failed.length > 0 && (LAST_WORDS[kind]?.test(text) ?? true);
  return { outcome: failed.length > 0 ? 'not-solved' : isSolved ? 'solved' : 'crashed', failed, isWhole };
}

/**
 * As root: kills all processes of user `$1`; stops them first, so that none can fork meanwhile. A killed process is there until it
 * has been scheduled, so on a busy machine this waits and looks again.
 */
export const END_ALL = String.raw`
uid=$1 attempt=0
while :; do
  left=
  for process in /proc/[0-9]*; do
    state= owner=
    while read -r key value rest; do
      case $key in State:) state=$value ;; Uid:) owner=$value; break ;; esac
    done 2>/dev/null <"$process/status"
    case $owner$state in "$uid"[ZX]) ;; "$uid"?) left="$left ${'${process#/proc/}'}" ;; esac
  done
  [ -n "$left" ] || exit 0
  [ "$attempt" -lt 200 ] || exit 1
  attempt=$((attempt + 1))
  kill -STOP $left 2>/dev/null; kill -KILL $left 2>/dev/null
  sleep 0.01 2>/dev/null || sleep 1
done`;
