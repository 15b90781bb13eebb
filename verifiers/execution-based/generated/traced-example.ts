import { z } from 'zod';
import { asSmallJson, listOf } from '../../../src/core/json.js';
import type { Issue } from '../../../src/core/run/issue.js';
import { type Sandbox, sandboxSpec } from '../../../src/ports/sandbox.js';
import { inInstanceEnvironment } from '../drivers/test-dialect.js';

/*
 * Runs an issue's code on base under a trace: what it calls is what the issue is about. It runs as the tests' user in a
 * separate container; its output is only a hint as to which source a test's author is shown.
 */

/** Seconds for all statements of the issue. */
const SECONDS = 20;
const DEADLINE_S = 60;

/**
 * Reads the issue on stdin; runs, statement by statement, its lines that are Python and do something; prints one line
 * of JSON: the functions below the working directory that were called, as `[file, line, depth, raised]`, first those
 * that raised, then those nearest to the issue's code. Calls made while a module is imported do not count.
 */
const TRACE = String.raw`
import ast, json, os, re, signal, sys, textwrap

ROOT, SECONDS, MOST = os.path.realpath(os.getcwd()), int(sys.argv[1]), 400
real = os.dup(1)
os.dup2(2, 1)
sys.path[:1] = [ROOT]
DOING = (ast.Call, ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)

def parsed(lines):
    try:
        tree = ast.parse(textwrap.dedent('\n'.join(lines)).expandtabs(4))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return tree.body if any(isinstance(node, DOING) for node in ast.walk(tree)) else []

def statements(text):
    lines = text.splitlines()[:400]
    shown = [re.sub(r'^\s*(>>>|\.\.\.) ?', '', line) for line in lines if re.match(r'^\s*(>>>|\.\.\.)( |$)', line)]
    if shown:
        lines = shown
    at = 0
    while at < len(lines):
        for end in range(min(len(lines), at + 40), at, -1):
            body = parsed(lines[at:end]) if lines[at].strip() else []
            if body:
                yield from body
                at = end - 1
                break
        at += 1

called, depth = {}, [0]

def below(code):
    name = code.co_filename
    return name.startswith(ROOT + os.sep)

def look(frame, event, argument):
    if event == 'call':
        depth[0] += 1
        code = frame.f_code
        if below(code) and code.co_name != '<module>':
            key = (code.co_filename, code.co_firstlineno)
            called[key] = min(called.get(key, 1000), depth[0])
    elif event == 'return':
        depth[0] -= 1

def late(number, frame):
    raise TimeoutError

def main():
    text = sys.stdin.read()
    space, raised = {'__name__': '__main__'}, set()
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        for node in statements(text):
            code = compile(ast.Module([node], []), '<issue>', 'exec')
            depth[0] = -1
            try:
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    exec(code, space)
                    continue
                sys.setprofile(look)
                exec(code, space)
            except TimeoutError:
                break
            except BaseException as error:
                trace = error.__traceback__
                while trace is not None:
                    if below(trace.tb_frame.f_code):
                        raised.add((trace.tb_frame.f_code.co_filename, trace.tb_frame.f_code.co_firstlineno))
                    trace = trace.tb_next
            finally:
                sys.setprofile(None)
    except BaseException:
        sys.setprofile(None)
    first = sorted(called, key=lambda key: (key not in raised, called[key]))[:MOST]
    rows = [[name[len(ROOT) + 1:], line, called[(name, line)], (name, line) in raised] for name, line in first]
    os.write(real, (json.dumps(rows) + '\n').encode())

main()
os._exit(0)
`.trimStart();

/** A function that the issue's code called. */
interface TracedCall {
  /** Relative to the repository's root. */
  readonly path: string;
  /** Its first line, decorators included, from 0. */
  readonly line: number;
  /** Calls between it and the issue's own code. */
  readonly depth: number;
  /** Whether an exception that reached the issue's code passed through it. */
  readonly raised: boolean;
}

const Rows = listOf(z.tuple([z.string(), z.int().min(1), z.int().min(0), z.boolean()]));
const MOST_VALUES = 5_000;
const HAS_CODE = /^[ \t]*(?:>>> |import[ \t]+\w|from[ \t]+[\w.]+[ \t]+import\b)/m;

/**
 * What the Python code in an issue's text calls on base; empty if there is no such code, users cannot be separated, or
 * it does not end.
 * @throws what the sandbox throws
 */
export async function tracedCalls(sandbox: Sandbox, issue: Issue, signal: AbortSignal): Promise<readonly TracedCall[]> {
  if (!HAS_CODE.test(issue.problem_statement)) return [];
  const spec = { ...sandboxSpec(issue.environment, 'test writer'), separatesUsers: true };
  await using session = await sandbox.open(spec, signal);
  if (session.testsUser === null) return [];
  const argv = ['python3', '-W', 'ignore', '-c', TRACE, String(SECONDS)];
  const request = { argv, as: 'tests', stdin: issue.problem_statement, cpuS: SECONDS, deadlineS: DEADLINE_S } as const;
  const ended = await session.exec(inInstanceEnvironment(request), signal);
  return ended.kind === 'exited' ? readCalls(ended.stdout) : [];
}

/** The last line of the trace's output; empty if that is not a list of calls. */
export function readCalls(stdout: string): readonly TracedCall[] {
  const rows = Rows.safeParse(asSmallJson(stdout.trim().split('\n').at(-1) ?? '', MOST_VALUES));
  return (rows.data ?? []).map(([path, line, depth, raised]) => ({ path, line: line - 1, depth, raised }));
}
