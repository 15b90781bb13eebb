import {
  disagreement,
  exceededLimit,
  failureCodes,
  judge,
  namesHalf,
  requiredTests,
  statusesOf,
  type Verdict,
} from './judge.js';
import { type GradingContext, runPatch, type TestRun, wallLimitS } from './run-hidden-tests.js';
import type { TestLog } from '../../verifiers/execution-based/reports/test-log.js';

const NAMES_SHOWN = 10;
const LONGEST_NAME = 100;

/** What the hidden tests come to without a candidate. */
export interface References {
  /** With the required tests. */
  readonly bench: GradingContext;
  /** The run on base. */
  readonly base: TestRun;
  /** All tests of the row. */
  readonly listed: readonly string[];
}

/**
 * Decides doubtful runs of an instance: what also happens to base or gold is not the patch's own fault. Gold runs once,
 * and only if a run is doubtful.
 */
export class ReferenceRuns {
  /** Why no patch of the instance can be labelled right; null = none was found out. */
  unreadable: string | null;
  /** Why gold does not pass; null = it does, or did not run. */
  goldProblem: string | null = null;
  /** Even a patch that passes everything has then proved nothing. */
  readonly #provesNothing: boolean;
  #gold: Promise<TestRun | null> | null = null;

  constructor(private readonly references: References) {
    this.unreadable = this.#whyNothingIsProved();
    this.#provesNothing = this.unreadable !== null;
  }

  #whyNothingIsProved(): string | null {
    const { bench, base, listed } = this.references;
    const { tests, command } = bench;
    if (requiredTests(tests).length === 0) {
      return `no listed test passes on base: ${this.#evidence('base', base.log, listed)}`;
    }
    const isSilent =
      base.log.passesUnnamed &&
      disagreement(base, command.format) === null &&
      tests.failToPass.length > 0 &&
      statusesOf(base.log, tests.failToPass).every(([, status]) => status === 'passed');
    return isSilent
      ? `base fails no test of FAIL_TO_PASS, and its log names only tests that fail: ${shown([...base.log.names])}; listed: ${shown(tests.failToPass)}`
      : null;
  }

  /** @throws UnavailableError when gold could not be run */
  async settle(verdict: Verdict, run: TestRun, signal: AbortSignal): Promise<Omit<Verdict, 'doubt'>> {
    if (this.#provesNothing && this.unreadable !== null) return { resolved: null, reason: this.unreadable };
    if (verdict.doubt === null) return verdict;
    const reason =
      verdict.doubt === 'limit' ? await this.#whyLimited(run, signal) : await this.#why(verdict, run, signal);
    if (verdict.doubt !== 'limit') this.unreadable ??= reason;
    return reason === null ? verdict : { resolved: null, reason };
  }

  #why({ doubt }: Verdict, run: TestRun, signal: AbortSignal): Promise<string | null> {
    if (doubt === 'unread') return this.#whyUnread(signal);
    return doubt === 'missing' ? this.#whyMissing(run, signal) : this.#whyContradicted(signal);
  }

  async #whyLimited(run: TestRun, signal: AbortSignal): Promise<string | null> {
    const { base, bench } = this.references;
    const gold = await this.#runGold(signal);
    const limit = exceededLimit(run, bench.timeLimitS) ?? '';
    const [whose, reference] = gold === null ? ['base', base] : ['gold', gold];
    const other = exceededLimit(reference, bench.timeLimitS);
    if (other === limit) return `${limit}, as on ${whose}`;
    return reference.ended.kind === 'timed-out'
      ? `${limit}; ${whose} did not end within ${wallLimitS(bench.timeLimitS)} s`
      : null;
  }

  /** Without gold, base decides by PASS_TO_PASS: FAIL_TO_PASS may be in files that only exist with a right patch. */
  async #whyUnread(signal: AbortSignal): Promise<string | null> {
    const { base, listed, bench } = this.references;
    if (namesHalf(base.log, listed)) return null;
    const gold = await this.#runGold(signal);
    if (gold !== null) return namesHalf(gold.log, listed) ? null : this.#evidence('gold', gold.log, listed);
    const kept = listed.filter((name) => !bench.tests.failToPass.includes(name));
    return kept.length > 0 && namesHalf(base.log, kept) ? null : this.#evidence('base', base.log, listed);
  }

  /** Without gold, a missing test of FAIL_TO_PASS is the patch's own fault, and so is one that base's log names. */
  async #whyMissing(run: TestRun, signal: AbortSignal): Promise<string | null> {
    const { base, bench } = this.references;
    const gold = await this.#runGold(signal);
    const missing = missingIn(run.log, requiredTests(bench.tests));
    if (gold === null && missing.some((name) => bench.tests.failToPass.includes(name))) return null;
    const [whose, { log }] = gold === null ? (['base', base] as const) : (['gold', gold] as const);
    return missingIn(log, missing).length < missing.length ? null : this.#evidence(whose, log, missing);
  }

  async #whyContradicted(signal: AbortSignal): Promise<string | null> {
    const gold = await this.#runGold(signal);
    const { command } = this.references.bench;
    const problem = gold === null ? null : disagreement(gold, command.format, failureCodes(command));
    return problem === null ? null : `with gold, too, ${problem}`;
  }

  /** Null if there is none, or it cannot be run. */
  #runGold(signal: AbortSignal): Promise<TestRun | null> {
    return (this.#gold ??= this.#runGoldOnce(signal));
  }

  async #runGoldOnce(signal: AbortSignal): Promise<TestRun | null> {
    const { bench, listed } = this.references;
    if (bench.tests.gold === null) return null;
    const run = await runPatch(bench, bench.tests.gold, signal);
    if (typeof run === 'string') {
      this.goldProblem = run;
      return null;
    }
    const { resolved, reason } = judge(bench, run, listed);
    this.goldProblem = resolved === true ? null : reason;
    return run;
  }

  #evidence(whose: 'gold' | 'base', log: TestLog, listed: readonly string[]): string {
    const missing = missingIn(log, listed);
    const found = shown([...log.names]);
    const names = `${listed.length - missing.length} of ${listed.length} listed tests`;
    const { format } = this.references.bench.command;
    return `the log of ${whose}, read as ${format}, names ${names}; found: ${found}; listed, but not found: ${shown(missing)}`;
  }
}

function missingIn(log: TestLog, names: readonly string[]): readonly string[] {
  return names.filter((name) => log.statusOf(name) === 'missing');
}

function shown(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const first = names.slice(0, NAMES_SHOWN).map((name) => JSON.stringify(name.slice(0, LONGEST_NAME)));
  return [...first, ...(names.length > NAMES_SHOWN ? [`${names.length - NAMES_SHOWN} more`] : [])].join(', ');
}
