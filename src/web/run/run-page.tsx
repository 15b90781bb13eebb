import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { EvidenceView, LabelsView } from '../../http/runs/evidence-view.js';
import { runPath } from '../api.js';
import { Markdown } from '../markdown/markdown.js';
import { Awaited, Notice, useAnswer, StatusMark } from '../notice.js';
import { CandidatePanel } from './candidate-panel.js';
import { CandidatesTable } from './candidates-table.js';
import { type Labels, labelsOf, LiveProgress, LabelOfSelected, waitForGrades } from './live-progress.js';
import { LogOdds, whyOf } from './log-odds.js';
import { liveRows, type Live, useLive } from './live-run.js';
import { MatrixSection } from './matrix-section.js';
import { Problems, RunActions } from './run-actions.js';
import { Provenance, Stages } from './provenance.js';
import { counted, moment, money, percent, seconds, short } from '../format.js';
import { linkTo } from '../route.js';

interface Props {
  readonly id: string;
  /** The open candidate; null = the selected one, or the first. */
  readonly candidate: string | null;
  readonly query: URLSearchParams;
}

export function RunPage({ id, candidate, query }: Props) {
  const answer = useAnswer<EvidenceView>(runPath(id, 'evidence'));
  const status = answer.data?.run.status;
  // Requested immediately, not after the evidence: it is short, and the page is drawn only once.
  const told = useAnswer<LabelsView>(runPath(id, 'labels'));
  const labels = useMemo(() => labelsOf(told.data), [told.data]);
  const live = useLive(status === 'queued' || status === 'running' ? id : null);
  useEffect(() => {
    if (live.ended) answer.reload();
  }, [live.ended]);
  const [looks, setLooks] = useState(0);
  const wait = waitForGrades(live.status ?? status, told.data, looks);
  useEffect(() => {
    if (wait === null) return undefined;
    const timer = setTimeout(() => {
      told.reload();
      setLooks(looks + 1);
    }, wait);
    return () => {
      clearTimeout(timer);
    };
  }, [wait]);
  return (
    <>
      {answer.data === null && <h1>Run</h1>}
      <Awaited answer={answer} what="the run">
        {(evidence) => <Known {...{ evidence, live, labels, candidate, query }} reload={answer.reload} />}
      </Awaited>
    </>
  );
}

interface KnownProps extends Omit<Props, 'id'> {
  readonly evidence: EvidenceView;
  readonly live: Live;
  readonly labels: Labels;
  readonly reload: () => void;
}

function Known({ evidence, live, labels, candidate, query, reload }: KnownProps) {
  const { run, request, provenance } = evidence;
  const moves = run.status === 'queued' || run.status === 'running';
  const benchmark = useOrigin(query);
  const shown = useMemo(() => (moves ? liveRows(evidence, live) : evidence), [evidence, live, moves]);
  return (
    <>
      <RunHeader
        {...{ evidence, labels, benchmark, reload }}
        status={moves ? (live.status ?? run.status) : run.status}
      />
      <Problems evidence={evidence} />
      <Issue issue={request.issue} />
      {moves && <LiveProgress live={live} k={request.k} />}
      {!moves && shown.candidates.length === 0 && <Notice>The run ended before it had candidates.</Notice>}
      {shown.candidates.length > 0 && <Evidence evidence={shown} {...{ labels, candidate, query }} />}
      {provenance !== null && <Provenance evidence={evidence} />}
    </>
  );
}

/** The benchmark from which this page was opened, remembered because links to candidates and tabs do not include it. */
function useOrigin(query: URLSearchParams): string | null {
  const [origin] = useState(() => query.get('benchmark'));
  return origin;
}

function Evidence({ evidence, labels, candidate, query }: Omit<KnownProps, 'live' | 'reload'>) {
  const { selection, candidates } = evidence;
  const open = candidate ?? selection?.candidate_id ?? candidates[0]?.candidate_id ?? null;
  const found = candidates.find(({ candidate_id }) => candidate_id === open);
  return (
    <>
      <CandidatesTable {...{ evidence, labels, open }} />
      <LogOdds evidence={evidence} />
      {found === undefined ? (
        <Notice>This run has no such candidate.</Notice>
      ) : (
        <CandidatePanel
          key={found.candidate_id}
          {...{ evidence, query }}
          candidate={found}
          label={labels.get(found.candidate_id)}
        />
      )}
      <MatrixSection evidence={evidence} />
      {selection !== null && <Stages stages={selection.stages} deciding={selection.deciding_stage} />}
    </>
  );
}

/** The issue's text: rendered, or verbatim as models read it. */
function Issue({ issue }: { readonly issue: EvidenceView['request']['issue'] }) {
  const [isRaw, setIsRaw] = useState(false);
  const { problem_statement: text } = issue;
  return (
    <section class="issue" aria-labelledby="issue-title">
      <p class="actions">
        <h2 id="issue-title">Issue</h2>
        <button
          type="button"
          aria-pressed={isRaw}
          onClick={() => {
            setIsRaw(!isRaw);
          }}
        >
          As written
        </button>
      </p>
      <div class="issue-text panel" tabIndex={0} role="region" aria-label="Problem statement">
        {text.trim() === '' && <p class="quiet">The issue has no text.</p>}
        {isRaw ? <pre class="text">{text}</pre> : <Markdown text={text} />}
      </div>
      <Environment issue={issue} />
    </section>
  );
}

function Environment({ issue: { environment } }: { readonly issue: EvidenceView['request']['issue'] }) {
  const { regression_files: files } = environment;
  return (
    <details>
      <summary>Environment</summary>
      <dl class="facts">
        <dt>Image</dt>
        <dd>{environment.image}</dd>
        <dt>Folder</dt>
        <dd>{environment.workdir}</dd>
        <dt>Regression command</dt>
        <dd>{environment.regression_command ?? 'none'}</dd>
        <dt>Regression files</dt>
        <dd>{files.length === 0 ? 'chosen near the patches' : files.join(' ')}</dd>
      </dl>
    </details>
  );
}

interface HeaderProps {
  readonly evidence: EvidenceView;
  readonly labels: Labels;
  readonly status: EvidenceView['run']['status'];
  /** The benchmark from which this page was opened. */
  readonly benchmark: string | null;
  readonly reload: () => void;
}

/** The decision, its basis, and the available actions. */
function RunHeader({ evidence, labels, status, benchmark, reload }: HeaderProps) {
  const { run, request, selection } = evidence;
  return (
    <section class="run-header" aria-labelledby="run-title">
      <h1 id="run-title">{request.issue.instance_id}</h1>
      <p class="quiet">
        {benchmark !== null && <a href={linkTo(['benchmarks', benchmark])}>← Benchmark</a>}{' '}
        <StatusMark status={status} /> <code class="id">{run.id}</code> created {moment(run.created_at)}
      </p>
      {selection !== null && <Decision {...{ selection, evidence, labels }} />}
      <Figures evidence={evidence} />
      <RunActions evidence={evidence} status={status} reload={reload} />
    </section>
  );
}

const BASES = {
  hybrid: 'verdicts decided',
  fallback: 'no verdict was used: tie-breaks decided',
  none: 'nothing to return',
} as const;

interface DecisionProps extends Pick<HeaderProps, 'evidence' | 'labels'> {
  readonly selection: NonNullable<EvidenceView['selection']>;
}

function Decision({ selection, evidence, labels }: DecisionProps) {
  const why = whyOf(evidence);
  return (
    <>
      <dl class="decision">
        <Fact name="Selected">
          {selection.candidate_id === null ? 'none: no patch is returned' : <code>★ {selection.candidate_id}</code>}
        </Fact>
        {labels.size > 0 && (
          <Fact name="Hidden tests">
            <LabelOfSelected selected={selection.candidate_id} labels={labels} />
          </Fact>
        )}
        <Fact name="Decided by">{selection.deciding_stage ?? 'nothing to decide'}</Fact>
        <Fact name="Basis">
          {selection.basis} <span class="quiet">({BASES[selection.basis]})</span>
        </Fact>
        <Fact name="Confidence">
          {selection.confidence === null ? <span class="quiet">not calibrated</span> : percent(selection.confidence)}
        </Fact>
      </dl>
      {why !== null && <p class="why">{why}</p>}
      {selection.notes.map((note) => (
        <Notice key={note}>{note}.</Notice>
      ))}
      {evidence.candidates.length === 1 && <Notice>There was only one candidate, so there was no choice.</Notice>}
    </>
  );
}

function Figures({ evidence }: { readonly evidence: EvidenceView }) {
  const { request, statistics, usage } = evidence;
  const parts = [
    `K = ${request.k}${request.given ? ' given' : ' sampled'}`,
    `preset ${request.preset}`,
    ...(statistics === null ? [] : countsOf(statistics)),
    ...(usage === null ? [] : costsOf(usage)),
  ];
  return <p class="figures">{parts.join(' · ')}</p>;
}

function countsOf(counts: NonNullable<EvidenceView['statistics']>): readonly string[] {
  return [
    counted(counts.distinct_patches, 'distinct patch', 'distinct patches'),
    `${counts.verified} verified`,
    `${counts.tests_admitted} of ${counts.tests_given} tests admitted`,
  ];
}

function costsOf({ models, cost_usd, stages }: NonNullable<EvidenceView['usage']>): readonly string[] {
  const tokens = models.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0);
  return [
    `${short(tokens)} tokens`,
    cost_usd === null ? 'cost unknown' : money(cost_usd),
    ...Object.entries(stages).map(([name, value]) => `${name} ${seconds(value)}`),
  ];
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
