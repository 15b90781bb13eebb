import { useEffect, useRef } from 'preact/hooks';
import type { Cell, GeneratedTest } from '../../core/run/generated-test.js';
import type { CellView, EvidenceView } from '../../http/runs/evidence-view.js';
import { queryOf, runPath } from '../api.js';
import { seconds } from '../format.js';
import { Loading, Problem, useAnswer } from '../notice.js';

export interface OpenCell {
  readonly suite: Cell['suite'];
  readonly testId: string;
  /** Null = base. */
  readonly candidateId: string | null;
}

interface Props {
  readonly runId: string;
  readonly cell: OpenCell;
  readonly onClose: () => void;
}

/** One cell of the matrix with the end of its log, and the test's source. */
export function CellPanel({ runId, cell: { suite, testId, candidateId }, onClose }: Props) {
  const title = useRef<HTMLHeadingElement>(null);
  const of = candidateId === null ? { base: 'true' } : { candidate_id: candidateId };
  const path = `${runPath(runId, 'cells')}${queryOf({ suite, test_id: testId, ...of })}`;
  const { data, problem, reload } = useAnswer<{ readonly cells: readonly Cell[] }>(path);
  useEffect(() => {
    title.current?.focus();
  }, [path]);
  return (
    <section class="panel cell-panel" aria-labelledby="cell-title">
      <h3 id="cell-title" ref={title} tabIndex={-1}>
        {testId} on {candidateId ?? 'base'}
      </h3>
      <button type="button" class="close" onClick={onClose}>
        Close
      </button>
      {data === null && problem === null && <Loading what="the log" />}
      {problem !== null && <Problem problem={problem} retry={reload} />}
      {data?.cells.length === 0 && <p class="quiet">The log is available once the run is done.</p>}
      {data?.cells.map((each, index) => (
        <Execution key={index} cell={each} />
      ))}
      {suite === 'reproduction' && <TestText runId={runId} testId={testId} />}
    </section>
  );
}

function Execution({ cell }: { readonly cell: Cell }) {
  const { trust, exit_code, duration_ms, same_as, passed, total, lost, log_tail } = cell;
  const parts = [
    wordOf(cell),
    trust === 'command' && 'as reported by its command, which also runs the patch',
    exit_code !== null && `exit ${exit_code}`,
    seconds(duration_ms / 1_000),
    passed !== null && total !== null && `${passed} of ${total} pass`,
    same_as !== null && `run once, on ${same_as}`,
  ];
  return (
    <>
      <p class="figures">{parts.filter(Boolean).join(' · ')}</p>
      {lost.length > 0 && (
        <details>
          <summary>{lost.length} now failing</summary>
          <ul class="names">
            {lost.map((name) => (
              <li key={name}>{name}</li>
            ))}
          </ul>
        </details>
      )}
      {cell.observed !== undefined && (
        <pre class="text" tabIndex={0} aria-label="Observations">
          {cell.observed.preview}
        </pre>
      )}
      <pre class="text log" tabIndex={0} aria-label="End of the log">
        {log_tail === '' ? '(it printed nothing)' : log_tail}
      </pre>
    </>
  );
}

function TestText({ runId, testId }: { readonly runId: string; readonly testId: string }) {
  const { data, problem, reload } = useAnswer<GeneratedTest>(runPath(runId, 'tests', testId));
  // 404: a test is stored with the result of its run.
  if (problem !== null && problem.status !== 404) return <Problem problem={problem} retry={reload} />;
  if (data === null) return null;
  return (
    <details>
      <summary>
        The test: {data.path}
        {data.kind === 'pass-to-pass' && ', which passes on base'}
        {data.author !== null && `, by ${data.author}`}
      </summary>
      <pre class="text" tabIndex={0} aria-label="The test">
        {data.content}
      </pre>
    </details>
  );
}

/** A row of the heat map: a generated test, or the regression set. */
export interface MatrixRow {
  readonly suite: CellView['suite'];
  readonly testId: string;
  /** Null = not known yet, or the regression set, which needs no admission. */
  readonly admitted: boolean | null;
  readonly reason: string | null;
  readonly quality: EvidenceView['test_quality'][number] | null;
  /** Aligned with the columns; null if nothing was run. */
  readonly cells: readonly (CellView | null)[];
}

export interface Matrix {
  /** Null = base, the repository without a patch. */
  readonly columns: readonly (string | null)[];
  readonly rows: readonly MatrixRow[];
}

/** Tests × candidates, base first, candidates by rank; refused tests after the others, the regression set last. */
export function matrixOf({ cells, candidates, admissions, tests, test_quality }: EvidenceView): Matrix {
  const columns = [null, ...candidates.map(({ candidate_id }) => candidate_id)];
  const byPlace = new Map(cells.map((cell) => [placeOf(cell.suite, cell.test_id, cell.candidate_id), cell]));
  const admissionOf = new Map(admissions.map((admission) => [admission.test_id, admission]));
  const qualityOf = new Map(test_quality.map((quality) => [quality.test_id, quality]));
  const row = (suite: CellView['suite'], testId: string): MatrixRow => ({
    suite,
    testId,
    admitted: admissionOf.get(testId)?.admitted ?? null,
    reason: admissionOf.get(testId)?.reason ?? null,
    quality: qualityOf.get(testId) ?? null,
    cells: columns.map((column) => byPlace.get(placeOf(suite, testId, column)) ?? null),
  });
  const ids = (suite: CellView['suite']): string[] =>
    cells.filter((cell) => cell.suite === suite).map(({ test_id }) => test_id);
  const generated = new Set([
    ...tests.map(({ test_id }) => test_id),
    ...admissions.map(({ test_id }) => test_id),
    ...ids('reproduction'),
  ]);
  const rows = [...generated].map((id) => row('reproduction', id));
  return {
    columns,
    rows: [
      ...rows.filter(({ admitted }) => admitted !== false),
      ...rows.filter(({ admitted }) => admitted === false),
      ...[...new Set(ids('regression'))].map((id) => row('regression', id)),
    ],
  };
}

function placeOf(suite: string, testId: string, candidateId: string | null): string {
  return JSON.stringify([suite, testId, candidateId]);
}

export const OUTCOMES = {
  solved: { sign: '✓', word: 'solved' },
  'not-solved': { sign: '✗', word: 'not solved' },
  observed: { sign: 'o', word: 'observed' },
  crashed: { sign: '!', word: 'crashed' },
  'timed-out': { sign: 'T', word: 'timed out' },
  'out-of-memory': { sign: 'M', word: 'out of memory' },
  'out-of-disk': { sign: 'D', word: 'out of disk' },
  forged: { sign: 'F', word: 'forged' },
} as const satisfies Record<CellView['outcome'], { sign: string; word: string }>;

/** Kinds that add information to an outcome. */
const KINDS: Readonly<Partial<Record<NonNullable<Cell['kind']>, string>>> = {
  'wrong-answer': 'wrong answer',
  'set-up-error': 'set-up error',
  'missing-name': 'missing name',
  flaky: 'flaky',
  'passes-on-base': 'passes on base',
};

function wordOf({ outcome, kind }: Pick<Cell, 'outcome' | 'kind'>): string {
  const { word } = OUTCOMES[outcome];
  const said = kind === undefined || (outcome === 'not-solved' && kind === 'wrong-answer') ? undefined : KINDS[kind];
  return said === undefined ? word : `${word}: ${said}`;
}

/** A cell's sign and words, and a colour that only repeats them. */
export function faceOf(cell: CellView | null): { readonly sign: string; readonly word: string; readonly tone: string } {
  if (cell === null) return { sign: '', word: 'not run', tone: 'none' };
  const { sign } = OUTCOMES[cell.outcome];
  const plain = wordOf(cell);
  const word = cell.trust === 'command' ? `${plain}, as reported by its command` : plain;
  const shown = kindOf(cell);
  if (shown !== null) return shown;
  if (cell.suite === 'reproduction' || cell.total === null || cell.passed === null) {
    return { sign, word, tone: cell.outcome };
  }
  const lost = cell.total - cell.passed;
  const held = `${cell.passed} of ${cell.total} pass`;
  return lost === 0
    ? { sign: String(cell.passed), word: held, tone: 'solved' }
    : { sign: `−${lost}`, word: `−${lost}, ${held}`, tone: 'not-solved' };
}

/** Groups candidates with the same observation in an observing test; null for other cells. */
function kindOf({ observed }: CellView): ReturnType<typeof faceOf> | null {
  const { group, preview } = observed ?? {};
  if (group === undefined) return null;
  const [sign, alike] = group === 0 ? ['=', 'as base'] : [String(group), `kind ${group}`];
  return { sign, word: `${alike}: ${preview ?? ''}`, tone: 'observed' };
}

/** A, B, … Z, A1, …: a letter for each class of candidates that behave alike. */
export function behaviourLetters(behaviours: EvidenceView['behaviours']): ReadonlyMap<string, string> {
  return new Map(
    behaviours.flatMap(({ candidate_ids }, index) => {
      const letter = String.fromCharCode(65 + (index % 26));
      return candidate_ids.map((id) => [id, index < 26 ? letter : `${letter}${Math.floor(index / 26)}`] as const);
    }),
  );
}
