import type { Issue } from '../../../src/core/run/issue.js';
import type { Sandbox } from '../../../src/ports/sandbox.js';
import { BaseRepository } from '../../source/base-repository.js';
import { namesIn } from '../../source/issue-names.js';
import { type ShownSource, sourceOfIssue } from '../../source/issue-source.js';
import type { TestLanguage } from '../drivers/test-dialect.js';
import { tracedCalls } from './traced-example.js';

/** The language that most files are in, and every file of it. */
const LIST = String.raw`
set -- '*.js' '*.mjs' '*.cjs' '*.jsx' '*.ts' '*.tsx'
language=javascript
[ "$(g ls-files -- "$@" | wc -l)" -gt "$(g ls-files -- '*.py' | wc -l)" ] || { set -- '*.py'; language=python; }
echo "$language"
g ls-files -- "$@"`;

const GLOBS: Readonly<Record<TestLanguage, readonly string[]>> = {
  javascript: ['*.js', '*.mjs', '*.cjs', '*.jsx', '*.ts', '*.tsx'],
  python: ['*.py'],
};

interface ChosenSource {
  /** Of most of the repository's files. */
  readonly language: TestLanguage;
  /** Functions and classes, by file; the likeliest file first. */
  readonly files: readonly ShownSource[];
}

/**
 * What of base has most to do with an issue, by the names in it, by what its own code calls and by what that calls in turn.
 * @throws what the sandbox throws
 */
export async function chosenFiles(sandbox: Sandbox, issue: Issue, signal: AbortSignal): Promise<ChosenSource> {
  const calls = tracedCalls(sandbox, issue, signal);
  calls.catch(() => undefined);
  await using base = await BaseRepository.open(sandbox, issue, 'test writer', signal);
  const [first = '', ...files] = ((await base.ask(LIST, {}, signal)) ?? '').split('\n').filter((line) => line !== '');
  const language = first === 'javascript' ? 'javascript' : 'python';
  const reached = language === 'python' ? await calls : [];
  const sought = { names: namesIn(issue.problem_statement), files, globs: GLOBS[language], reached };
  return { language, files: await sourceOfIssue(base, sought, signal) };
}
