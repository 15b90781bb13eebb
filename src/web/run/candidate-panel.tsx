import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import { counted, seconds, short } from '../format.js';
import { linkTo, replaceRoute } from '../route.js';
import { Tabs } from '../tabs.js';
import { PatchTab } from './patch-tab.js';
import { TrajectoryTab } from './trajectory-tab.js';
import { VerdictsTab } from './verdicts-tab.js';

interface Props {
  readonly evidence: EvidenceView;
  readonly candidate: CandidateEvidence;
  readonly query: URLSearchParams;
}

const TABS = { patch: 'Patch', trajectory: 'Trajectory', verdicts: 'Verdicts and judge' } as const;
type Tab = keyof typeof TABS;

/** One candidate: its patch, how it came about, and what the verifiers said. */
export function CandidatePanel({ evidence, candidate, query }: Props) {
  const { candidate_id: id, rank } = candidate;
  const asked = query.get('tab') ?? '';
  const tab: Tab = Object.hasOwn(TABS, asked) ? (asked as Tab) : 'patch';
  const go = (changes: Readonly<Record<string, string | null>>): void => {
    replaceRoute(linkTo(['runs', evidence.run.id, 'candidates', id], { tab, ...changes }));
  };
  return (
    <section class="candidate" aria-labelledby="candidate-title">
      <h2 id="candidate-title">
        <code>{id}</code>
        {rank !== null && <span class="quiet"> rank {rank}</span>}
      </h2>
      <p class="figures">
        <Effort candidate={candidate} /> <Flags flags={candidate.flags} />
      </p>
      <Tabs
        label="Candidate"
        tabs={TABS}
        open={tab}
        onOpen={(name) => {
          go({ tab: name });
        }}
      >
        {tab === 'patch' && <PatchTab runId={evidence.run.id} candidate={candidate} />}
        {tab === 'trajectory' && (
          <TrajectoryTab
            runId={evidence.run.id}
            candidate={candidate}
            first={Number(query.get('step') ?? 0)}
            onMove={(step) => {
              go({ step: String(step) });
            }}
          />
        )}
        {tab === 'verdicts' && <VerdictsTab evidence={evidence} candidate={candidate} />}
      </Tabs>
    </section>
  );
}

function Effort({
  candidate: { model, exit_reason, steps, tokens, seconds: spent },
}: {
  readonly candidate: CandidateEvidence;
}) {
  const parts = [
    model,
    steps === 0 ? 'no trajectory' : counted(steps, 'step'),
    exit_reason !== null && `ended by ${exit_reason}`,
    tokens !== null && `${short(tokens)} tokens`,
    spent !== null && seconds(spent),
  ];
  return <span>{parts.filter(Boolean).join(' · ')}</span>;
}

/** Flags that put a candidate's honesty or its evidence in doubt. */
const SERIOUS =
  /^(leak:|judge-disagrees|test-files-set-apart|runner-config-files-set-apart|patch-lost|refused-patch|does-not-apply)/;

export function Flags({ flags }: { readonly flags: readonly string[] }) {
  return (
    <>
      {flags.map((flag) => (
        <span key={flag} class={SERIOUS.test(flag) ? 'tag tag-warn' : 'tag'}>
          {SERIOUS.test(flag) && <span aria-hidden="true">⚠ </span>}
          {flag}
        </span>
      ))}
    </>
  );
}
