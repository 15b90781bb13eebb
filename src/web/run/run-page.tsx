import { useEffect, useMemo } from 'preact/hooks';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { runPath } from '../api.js';
import { Awaited, Notice } from '../notice.js';
import { useAnswer } from '../use-answer.js';
import { CandidatePanel } from './candidate-panel.js';
import { CandidatesTable } from './candidates-table.js';
import { Issue } from './run-header.js';
import { LiveProgress } from './live-progress.js';
import { liveRows, type Live } from './live-run.js';
import { MatrixSection } from './matrix-section.js';
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
  const live = useLive(status === 'queued' || status === 'running' ? id : null);
  useEffect(() => {
    if (live.ended) answer.reload();
  }, [live.ended]);
  return (
    <>
      {answer.data === null && <h1>Run</h1>}
      <Awaited answer={answer} what="the run">
        {(evidence) => <Known {...{ evidence, live, candidate, query }} reload={answer.reload} />}
      </Awaited>
    </>
  );
}

interface KnownProps extends Omit<Props, 'id'> {
  readonly evidence: EvidenceView;
  readonly live: Live;
  readonly reload: () => void;
}

function Known({ evidence, live, candidate, query, reload }: KnownProps) {
  const { run, request, provenance } = evidence;
  const moves = run.status === 'queued' || run.status === 'running';
  const shown = useMemo(() => (moves ? liveRows(evidence, live) : evidence), [evidence, live, moves]);
  return (
    <>
      <RunHeader evidence={evidence} status={moves ? (live.status ?? run.status) : run.status} reload={reload} />
      {moves && <LiveProgress live={live} k={request.k} />}
      {!moves && shown.candidates.length === 0 && <Notice>It ended before there were candidates to look at.</Notice>}
      {shown.candidates.length > 0 && <Evidence evidence={shown} candidate={candidate} query={query} />}
      <Issue issue={request.issue} />
      {provenance !== null && <Provenance evidence={evidence} />}
    </>
  );
}

function Evidence({ evidence, candidate, query }: Pick<KnownProps, 'evidence' | 'candidate' | 'query'>) {
  const { selection, candidates } = evidence;
  const open = candidate ?? selection?.candidate_id ?? candidates[0]?.candidate_id ?? null;
  const found = candidates.find(({ candidate_id }) => candidate_id === open);
  return (
    <>
      <CandidatesTable evidence={evidence} open={open} />
      {found === undefined ? (
        <Notice>This run has no such candidate.</Notice>
      ) : (
        <CandidatePanel key={found.candidate_id} evidence={evidence} candidate={found} query={query} />
      )}
      <MatrixSection evidence={evidence} />
      {selection !== null && <Stages stages={selection.stages} deciding={selection.deciding_stage} />}
    </>
  );
}
