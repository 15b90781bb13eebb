import type { ComponentChildren } from 'preact';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { counted, moment, money, seconds, short } from '../format.js';
import { Notice, StatusMark } from '../notice.js';
import { RunActions } from './run-actions.js';

interface Props {
  readonly evidence: EvidenceView;
  readonly status: EvidenceView['run']['status'];
  readonly reload: () => void;
}

/** What was decided, on what ground, and what can be done with it. */
export function RunHeader({ evidence, status, reload }: Props) {
  const { run, request, selection } = evidence;
  return (
    <section class="run-header" aria-labelledby="run-title">
      <h1 id="run-title">{request.issue.instance_id}</h1>
      <p class="quiet">
        <StatusMark status={status} /> <code class="id">{run.id}</code> made {moment(run.created_at)}
      </p>
      {run.failure !== null && (
        <Notice kind="problem">
          <strong>It failed: {run.failure.message}</strong> {run.failure.next} <code>{run.failure.code}</code>
        </Notice>
      )}
      {status === 'cancelled' && <Notice>It was cancelled. What was finished is stored and not paid for again.</Notice>}
      {selection !== null && <Decision selection={selection} evidence={evidence} />}
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

function Decision({
  selection,
  evidence,
}: {
  selection: NonNullable<EvidenceView['selection']>;
  evidence: EvidenceView;
}) {
  const abstained =
    evidence.candidates.length > 0 &&
    evidence.candidates.every(({ verdicts }) => verdicts.every(({ kind }) => kind === 'abstained'));
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
      {selection.why_none !== null && <Notice>No patch is returned: {selection.why_none}.</Notice>}
      {selection.notes.map((note) => (
        <Notice key={note}>{note}.</Notice>
      ))}
      {abstained && <Notice>Every verifier abstained on every candidate: no score stands behind this order.</Notice>}
      {evidence.candidates.length === 1 && <Notice>There was one candidate: nothing to choose from.</Notice>}
    </>
  );
}

function Figures({ evidence }: { readonly evidence: EvidenceView }) {
  const { request, statistics, usage, sampling } = evidence;
  const parts = [
    `K = ${request.k}${request.given ? ' given' : ' sampled'}`,
    `preset ${request.preset}`,
    ...(statistics === null ? [] : countsOf(statistics)),
    ...(usage === null ? [] : costsOf(usage)),
    ...(sampling === null || sampling.failed.length === 0
      ? []
      : [`${counted(sampling.failed.length, 'try', 'tries')} could not be made`]),
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

export function Issue({ issue }: { readonly issue: EvidenceView['request']['issue'] }) {
  const { environment } = issue;
  return (
    <section aria-labelledby="issue-title">
      <details>
        <summary>
          <h2 id="issue-title">Issue</h2>
        </summary>
        <pre class="text" tabIndex={0} aria-label="Problem statement">
          {issue.problem_statement}
        </pre>
        <dl class="facts">
          <dt>Image</dt>
          <dd>{environment.image}</dd>
          <dt>Folder</dt>
          <dd>{environment.workdir}</dd>
          <dt>Regression command</dt>
          <dd>{environment.regression_command ?? 'none'}</dd>
          <dt>Regression files</dt>
          <dd>
            {environment.regression_files.length === 0
              ? 'those near the patches'
              : environment.regression_files.join(' ')}
          </dd>
        </dl>
      </details>
    </section>
  );
}
