import { useEffect, useMemo, useState } from 'preact/hooks';
import type { EvidenceView, LabelsView } from '../../http/runs/evidence-view.js';
import { runPath } from '../api.js';
import { Markdown } from '../markdown/markdown.js';
import { Awaited, Notice, useAnswer } from '../notice.js';
import { CandidatePanel } from './candidate-panel.js';
import { CandidatesTable } from './candidates-table.js';
import { type Labels, labelsOf, LiveProgress } from './live-progress.js';
import { LogOdds } from './log-odds.js';
import { liveRows, type Live } from './live-run.js';
import { MatrixSection } from './matrix-section.js';
import { Problems } from './run-actions.js';
import { Provenance } from './provenance.js';
import { RunHeader } from './run-header.js';
import { Stages } from './provenance.js';
import { useLive } from './live-run.js';

interface Props {
  readonly id: string;
  /** The candidate that is looked at; null = the selected one, or the first. */
  readonly candidate: string | null;
  readonly query: URLSearchParams;
}

export function RunPage({ id, candidate, query }: Props) {
  const answer = useAnswer<EvidenceView>(runPath(id, 'evidence'));
  const status = answer.data?.run.status;
  // At once, not behind the evidence: it is short, and the page is drawn once.
  const told = useAnswer<LabelsView>(runPath(id, 'labels'));
  const labels = useMemo(() => labelsOf(told.data), [told.data]);
  const live = useLive(status === 'queued' || status === 'running' ? id : null);
  useEffect(() => {
    if (live.ended) answer.reload();
  }, [live.ended]);
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
      {!moves && shown.candidates.length === 0 && <Notice>It ended before there were candidates to look at.</Notice>}
      {shown.candidates.length > 0 && <Evidence evidence={shown} {...{ labels, candidate, query }} />}
      {provenance !== null && <Provenance evidence={evidence} />}
    </>
  );
}

/** The benchmark that led here; candidates and tabs have addresses of their own, without it. */
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

/** What was asked: laid out, or letter by letter as models read it. */
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
        {text.trim() === '' && <p class="quiet">It has no text.</p>}
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
      <summary>Its environment</summary>
      <dl class="facts">
        <dt>Image</dt>
        <dd>{environment.image}</dd>
        <dt>Folder</dt>
        <dd>{environment.workdir}</dd>
        <dt>Regression command</dt>
        <dd>{environment.regression_command ?? 'none'}</dd>
        <dt>Regression files</dt>
        <dd>{files.length === 0 ? 'those near the patches' : files.join(' ')}</dd>
      </dl>
    </details>
  );
}
