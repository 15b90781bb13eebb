import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import { counted, seconds, short } from '../format.js';
import { linkTo, replaceRoute } from '../route.js';
import { Tabs } from '../notice.js';
import { type Label, LabelInWords } from './live-progress.js';
import { PatchTab } from './patch-tab.js';
import { TrajectoryTab } from './trajectory-tab.js';
import { VerdictsTab } from './verdicts-tab.js';

interface Props {
  readonly evidence: EvidenceView;
  readonly candidate: CandidateEvidence;
  readonly query: URLSearchParams;
}

interface PanelProps extends Props {
  readonly label: Label | undefined;
}

const TABS = { patch: 'Patch', trajectory: 'Trajectory', verdicts: 'Verdicts and judge' } as const;
type Tab = keyof typeof TABS;

/** One candidate: its patch, its trajectory and its verdicts. */
export function CandidatePanel({ evidence, candidate, query, label }: PanelProps) {
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
      <LabelInWords label={label} />
      <Tabs
        label="Candidate"
        tabs={TABS}
        open={tab}
        onOpen={(name) => {
          go({ tab: name });
        }}
      >
        {tab === 'patch' && <PatchTab runId={evidence.run.id} candidate={candidate} />}
        {tab === 'trajectory' && <Trajectories {...{ evidence, candidate, query, go }} />}
        {tab === 'verdicts' && <VerdictsTab evidence={evidence} candidate={candidate} />}
      </Tabs>
    </section>
  );
}

interface TrajectoriesProps extends Props {
  readonly go: (changes: Readonly<Record<string, string | null>>) => void;
}

/** One trajectory, or two side by side. */
function Trajectories({ evidence, candidate, query, go }: TrajectoriesProps) {
  const others = evidence.candidates.filter((each) => each !== candidate && each.steps > 0);
  const beside = others.find(({ candidate_id }) => candidate_id === query.get('beside'));
  const shown = beside === undefined ? [candidate] : [candidate, beside];
  const names = ['step', 'step2'] as const;
  const kept = { beside: beside?.candidate_id ?? null, step: query.get('step'), step2: query.get('step2') };
  return (
    <>
      {others.length > 0 && (
        <label>
          Compare with{' '}
          <select
            value={beside?.candidate_id ?? ''}
            onChange={(event) => {
              go({ step: kept.step, beside: event.currentTarget.value });
            }}
          >
            <option value="">nothing</option>
            {others.map(({ candidate_id: id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </label>
      )}
      <div class={beside === undefined ? undefined : 'beside'}>
        {shown.map((each, index) => (
          <div key={each.candidate_id}>
            {beside !== undefined && <h3>{each.candidate_id}</h3>}
            <TrajectoryTab
              runId={evidence.run.id}
              candidate={each}
              first={Number(query.get(names[index] ?? 'step') ?? 0)}
              onMove={(step) => {
                go({ ...kept, [names[index] ?? 'step']: String(step) });
              }}
            />
          </div>
        ))}
      </div>
    </>
  );
}

/** Describes how the agent ended: by submitting, or by what stopped it. */
function ending(reason: string): string {
  return reason === 'agent' ? 'submitted by the agent' : `ended by ${reason}`;
}

function Effort({
  candidate: { model, exit_reason, steps, tokens, seconds: spent },
}: {
  readonly candidate: CandidateEvidence;
}) {
  const parts = [
    model,
    steps === 0 ? 'no trajectory' : counted(steps, 'step'),
    exit_reason !== null && ending(exit_reason),
    tokens !== null && `${short(tokens)} tokens`,
    spent !== null && seconds(spent),
  ];
  return <span>{parts.filter(Boolean).join(' · ')}</span>;
}

/** Flags that cast doubt on a candidate's honesty or its evidence. */
const SERIOUS =
  /^(leak:|judge-disagrees|(image|runner-config|test)-files-set-apart|patch-lost|refused-patch|does-not-apply)/;

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
