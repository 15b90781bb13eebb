import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Candidate } from '../../../src/core/run/candidate.js';
import { gradeCandidates, type CandidateGrade, type Graded } from '../../../src/grading/grade-candidates.js';
import { readHere } from '../../../src/grading/runner-logs.js';
import type { Grade } from '../../../src/grading/grade-candidates.js';
import { hiddenTests, type HiddenTests, readAnswers } from '../../../src/grading/hidden-tests.js';
import { testCommand } from '../../../src/grading/test-command.js';
import type { ExecOutcome, ExecRequest } from '../../../src/ports/sandbox.js';
import { exited, FakeSandbox, type FakeSessionView } from '../../fakes/fake-sandbox.js';
import { checkEach } from '../../fakes/suite-player.js';
import { CALCULATOR, calculatorIssue } from '../../fixtures/calculator.js';

/** Changes the one existing test file and adds another. */
export const TEST_PATCH = `diff --git a/tests/test_calc.py b/tests/test_calc.py
--- a/tests/test_calc.py
+++ b/tests/test_calc.py
@@ -3,3 +3,7 @@
 
 def test_zero():
     assert add(0, 0) == 0
+
+
+def test_sum():
+    assert add(2, 3) == 5
diff --git a/tests/test_more.py b/tests/test_more.py
new file mode 100644
--- /dev/null
+++ b/tests/test_more.py
@@ -0,0 +1,5 @@
+from calc import add
+
+
+def test_minus():
+    assert add(-2, 3) == 1
`;

export const CALC = 'tests/test_calc.py::';
export const ROW = {
  instance_id: CALCULATOR,
  repo: 'bestk/calculator',
  patch: 'GOLD',
  test_patch: TEST_PATCH,
  FAIL_TO_PASS: [`${CALC}test_sum`, 'tests/test_more.py::test_minus'],
  PASS_TO_PASS: [`${CALC}test_zero`],
};

const folder = mkdtempSync(join(tmpdir(), 'bestk-grading-'));

/** Those of the calculator, read from a file with these rows. */
export async function hiddenTestsIn(...rows: readonly unknown[]): Promise<HiddenTests> {
  const path = join(folder, `${Math.random().toString(36).slice(2)}.jsonl`);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const tests = await hiddenTests(await readAnswers(path, new Set([CALCULATOR])), CALCULATOR);
  if (tests === null) throw new Error(`no row of ${CALCULATOR}`);
  return tests;
}

/** What pytest would print with `-rA`, and the exit code that goes with it. */
export function pytest(statuses: Readonly<Record<string, string>>): ExecOutcome {
  const lines = Object.entries(statuses).map(([id, status]) => `${status} ${id}`);
  const bad = Object.values(statuses).some((status) => status === 'FAILED' || status === 'ERROR');
  return exited(bad ? 1 : 0, `=== short test summary info ===\n${lines.join('\n')}\n`);
}

export interface PlayedGrading {
  /** How the test command ends on a tree, named by the candidate's patch; null = base. */
  readonly tests: (tree: string | null) => ExecOutcome | Promise<ExecOutcome>;
  readonly applies?: (patch: string) => boolean;
}

export interface GradeRequest {
  readonly row?: unknown;
  readonly command?: string | null;
  readonly known?: (key: string) => Grade | null;
  readonly enter?: (grade: CandidateGrade) => Promise<void>;
  readonly repeats?: boolean;
}

/** A container that knows `git apply`, the restoring of files, and the test command; every step is noted by session. */
export class GradingWorld {
  readonly sandbox: FakeSandbox;
  /** What was done in each session, in order. */
  readonly steps = new Map<FakeSessionView, string[]>();
  readonly requests: ExecRequest[] = [];
  readonly pauses: number[] = [];
  readonly entered: CandidateGrade[] = [];

  constructor(private readonly played: PlayedGrading) {
    this.sandbox = new FakeSandbox((request, session) => this.#play(request, session));
  }

  async grade(
    candidates: readonly Candidate[],
    { row = ROW, command = null, known = () => null, enter = this.#enter, repeats = false }: GradeRequest = {},
    signal = new AbortController().signal,
  ): Promise<Graded> {
    const tests = await hiddenTestsIn(row);
    const bench = {
      sandbox: this.sandbox,
      imageId: 'sha256:1',
      issue: calculatorIssue,
      tests,
      command: testCommand(tests, command),
      readLog: readHere,
      repeats,
      timeLimitS: 300,
      pause: async (ms: number) => {
        this.pauses.push(ms);
      },
    };
    return gradeCandidates(bench, candidates, { known, enter }, signal);
  }

  readonly #enter = async (grade: CandidateGrade): Promise<void> => {
    this.entered.push(grade);
  };

  async #play(request: ExecRequest, session: FakeSessionView): Promise<ExecOutcome> {
    this.requests.push(request);
    const done = this.steps.get(session) ?? [];
    this.steps.set(session, done);
    const { argv } = request;
    if (argv[2]?.includes('--check') === true) {
      return checkEach(request, session, this.played.applies ?? (() => true), 'error: patch failed: calc.py:1\n');
    }
    if (argv.includes('apply')) return this.#apply(String(request.stdin), done);
    if (argv[2]?.includes('rm -rf') === true) {
      done.push(`restore ${argv.slice(5).join(' ')}`);
      return exited(0);
    }
    const tree = done.find((step) => step.startsWith('apply '))?.slice('apply '.length) ?? null;
    done.push('test');
    return this.played.tests(tree);
  }

  #apply(patch: string, done: string[]): ExecOutcome {
    if (this.played.applies?.(patch) === false) return exited(1, '', 'error: patch failed: calc.py:1');
    done.push(patch === TEST_PATCH ? 'tests' : `apply ${patch}`);
    return exited(0);
  }
}
