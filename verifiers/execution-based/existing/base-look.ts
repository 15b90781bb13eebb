import { SingleFlight } from '../../../src/core/async/concurrency.js';
import { contentKey } from '../../../src/core/identifier.js';
import { type Issue, withTestFiles } from '../../../src/core/run/issue.js';
import { BaseFacts, type LookAtBase } from '../../../src/core/run/rollout.js';
import { BaseRepository } from '../../source/base-repository.js';
import type { ExecutionBasedOptions } from '../execution-based.js';
import { contextKey, type ExecutionContext, REGRESSION_S, Bytecode } from '../execution-context.js';
import { TreeSessions } from '../tree/tree-sessions.js';
import { regressionOn } from './regression-set.js';
import { testsNear } from './related-tests.js';
import { takesFiles } from './suite.js';
import { languageOfPaths, runnerFor, type TestRunner } from './test-runner.js';

/** Increment when the look changes: stored results are then recomputed. */
const PROTOCOL = 1;
/** Wall-clock limit for the tests, in seconds; a longer run is not reported. */
const BOUND_S = 60;
/** Files that are run if the issue names none. */
const MOST_FILES = 5;
const MOST_NAMES = 16;

/** Looks them up in the same shell as an agent's commands. */
const INTERPRETERS = `b=$(command -v bash) || b=/bin/sh; exec "$b" -c 'for p in python python3; do command -v $p >/dev/null && echo $p; done'`;
const DEADLINE_S = 30;

/** Words of an issue that look like code names: in backquotes, called, dotted, with an underscore or inner capital. */
const NAME =
  /`([A-Za-z_][\w.]*)[^`\n]{0,80}`|\b([A-Za-z_][\w.]{3,})(?=\()|\b(\w*[a-z]_\w+|[A-Z]\w*[a-z][A-Z]\w*|\w+\.\w[\w.]+)\b/g;

/**
 * Examines the unchanged repository once per image and issue: which interpreters its commands find, and which existing
 * tests near the issue fail before any change, if it is known how to run them. The result is stored. If the issue names
 * command and files, the verifier reuses the run of the tests.
 */
export function createBaseLook(options: Omit<ExecutionBasedOptions, 'observe'>): LookAtBase {
  const flights = new SingleFlight<BaseFacts>();
  return async (issue, signal) => {
    const { id: imageId } = await options.sandbox.describeImage(issue.environment.image, signal);
    const bytecode = new Bytecode(options.nonce);
    const context: ExecutionContext = {
      ...options,
      regressionS: options.regressionS ?? REGRESSION_S,
      issue,
      imageId,
      bytecode,
    };
    const { regression_command, regression_files, regression_report } = issue.environment;
    const asked = { regression_command, regression_files, regression_report, names: namesIn(issue.problem_statement) };
    const key = contentKey({ kind: 'base-look', look: PROTOCOL, ...contextKey(context), ...asked });
    return flights.join(key, signal, async (all) => {
      const stored = BaseFacts.safeParse(await context.results.get(key));
      if (stored.success) return stored.data;
      const facts = await look(context, asked.names, all);
      await context.results.put(key, 'base-look', facts);
      return facts;
    });
  };
}

async function look(context: ExecutionContext, names: readonly string[], signal: AbortSignal): Promise<BaseFacts> {
  const { workdir } = context.issue.environment;
  await using sessions = new TreeSessions(context, { tree: null, user: 'image', writes: [] }, signal);
  const { found, plan } = await sessions.use(async (session) => {
    const ended = await session.exec(
      { argv: ['/bin/sh', '-c', INTERPRETERS], environment: 'image', deadlineS: DEADLINE_S },
      signal,
    );
    const base = BaseRepository.over(session, workdir);
    return {
      found: ended.stdout.split('\n').filter((line) => line !== ''),
      plan: await planOf(context.issue, base, names, signal),
    };
  });
  await sessions.discard();
  return { interpreters: found, tests: plan === null ? null : await testsOnBase(context, plan, signal) };
}

interface Plan extends Pick<TestRunner, 'command' | 'report'> {
  readonly files: readonly string[];
}

/** How to run the nearest tests; null if unknown. */
async function planOf(
  { environment }: Pick<Issue, 'environment'>,
  base: BaseRepository,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Plan | null> {
  const { regression_command: given, regression_files: named, regression_report } = environment;
  if (given !== null && (named.length > 0 || !takesFiles(given))) {
    return { command: given, report: regression_report, files: named };
  }
  const paths = ((await base.ask('g ls-files', {}, signal)) ?? '').split('\n');
  const language = languageOfPaths(paths);
  const runner =
    given === null ? await runnerFor(base, language, signal) : { command: given, report: regression_report };
  if (runner === null) return null;
  const files = await testsNear(base, { ...soughtIn(paths, names), callers: new Map() }, language, signal);
  return files.length === 0 ? null : { ...runner, files: files.slice(0, MOST_FILES) };
}

/** The files that the issue names or imports, and the code names in it. */
function soughtIn(paths: readonly string[], names: readonly string[]) {
  const own = new Set(paths);
  const files = names.flatMap((name) => {
    // The part after the last dot may be a member of the module.
    const modules = [name, name.replace(/\.\w*$/, '')].map((dotted) => dotted.replaceAll('.', '/'));
    const places = modules.flatMap((module) => [`${module}.py`, `src/${module}.py`, `${module}/__init__.py`]);
    return [name, ...places].filter((path) => own.has(path));
  });
  const last = names.map((name) => name.slice(name.lastIndexOf('.') + 1)).filter((name) => name.length > 3);
  const all = (found: readonly string[]): ReadonlyMap<string, number> => new Map(found.map((name) => [name, 1]));
  return { files: all(files), names: all(last.slice(0, MOST_NAMES)) };
}

function namesIn(statement: string): readonly string[] {
  const found = [...statement.slice(0, 100_000).matchAll(NAME)].map(
    ([, ticked, called, shaped]) => ticked ?? called ?? shaped ?? '',
  );
  return [...new Set(found.map((name) => name.replace(/\.$/, '')))].slice(0, 2 * MOST_NAMES);
}

/** Null if the run takes too long, does not exit normally, or no test passes: then it is unknown how to run them. */
async function testsOnBase(
  context: ExecutionContext,
  { command, report, files }: Plan,
  signal: AbortSignal,
): Promise<BaseFacts['tests']> {
  const environment = { ...context.issue.environment, regression_files: [...files], regression_report: report };
  const bound = AbortSignal.timeout(BOUND_S * 1000);
  const both = AbortSignal.any([signal, bound]);
  try {
    const run = await regressionOn(
      { ...context, issue: { ...context.issue, environment } },
      command,
      { tree: null, repeat: 0 },
      both,
    );
    if (run.outcome !== 'exited' || run.passed.length === 0) return null;
    const { passed, failed } = run;
    return { command: withTestFiles(command, files), ran: passed.length + failed.length, failed: [...failed].sort() };
  } catch (error) {
    signal.throwIfAborted();
    if (bound.aborted) return null;
    throw error;
  }
}
