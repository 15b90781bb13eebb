import type { ComponentChildren } from 'preact';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { counted, moment, money, seconds, short } from '../format.js';
import { Notice, StatusMark } from '../notice.js';
import { linkTo } from '../route.js';
import { LabelOfSelected, type Labels } from './live-progress.js';
import { RunActions } from './run-actions.js';
import { whyOf } from './log-odds.js';

interface Props {
  readonly evidence: EvidenceView;
  readonly labels: Labels;
  readonly status: EvidenceView['run']['status'];
  /** The one that the reader comes from. */
  readonly benchmark: string | null;
  readonly reload: () => void;
}

/** What was decided, on what ground, and what can be done with it. */
export function RunHeader({ evidence, labels, status, benchmark, reload }: Props) {
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
  fallback: 'no verdict took part: only tie-breaks decided',
  none: 'nothing to return',
} as const;

interface DecisionProps extends Pick<Props, 'evidence' | 'labels'> {
  readonly selection: NonNullable<EvidenceView['selection']>;
}

function Decision({ selection, evidence, labels }: DecisionProps) {
  const why = whyOf(evidence);
  return (
    <>
      <dl class="decision">
        <Fact name="Selected">
          {selection.candidate_id === null ? (
            'none: no patch was worth returning'
          ) : (
            <code>★ {selection.candidate_id}</code>
          )}
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
          {selection.confidence === null ? (
            <span class="quiet">not calibrated</span>
          ) : (
            `${Math.round(selection.confidence * 100)} %`
          )}
        </Fact>
      </dl>
      {why !== null && <p class="why">{why}</p>}
      {selection.notes.map((note) => (
        <Notice key={note}>{note}.</Notice>
      ))}
      {evidence.candidates.length === 1 && <Notice>There was one candidate: nothing to choose from.</Notice>}
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
    cost_usd === null ? 'cost not known' : money(cost_usd),
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
