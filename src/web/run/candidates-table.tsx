import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import { measured } from '../format.js';
import { linkTo } from '../route.js';
import { Flags } from './candidate-panel.js';
import { type Label, LabelMark, type Labels } from './live-progress.js';
import { behaviourLetters } from './cell-panel.js';
import { rounded, scoreOf, type UsedScore } from './log-odds.js';

type Measure = EvidenceView['measures'][number];

interface Props {
  readonly evidence: EvidenceView;
  readonly labels: Labels;
  readonly open: string | null;
}

export function CandidatesTable({ evidence, labels, open }: Props) {
  const { candidates, selection, run } = evidence;
  const letters = behaviourLetters(evidence.behaviours);
  const hasModels = new Set(candidates.map(({ model }) => model)).size > 1;
  return (
    <section aria-labelledby="candidates-title">
      <h2 id="candidates-title">Candidates</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of candidates">
        <table class="list candidates">
          <Head measures={evidence.measures} isGraded={labels.size > 0} />
          <tbody>
            {candidates.map((candidate) => (
              <Row
                key={candidate.candidate_id}
                runId={run.id}
                candidate={candidate}
                measures={evidence.measures}
                letter={letters.get(candidate.candidate_id) ?? '–'}
                isSelected={candidate.candidate_id === selection?.candidate_id}
                isOpen={candidate.candidate_id === open}
                namesModel={hasModels}
                label={labels.size === 0 ? null : labels.get(candidate.candidate_id)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Head({ measures, isGraded }: Pick<EvidenceView, 'measures'> & { readonly isGraded: boolean }) {
  return (
    <thead>
      <tr>
        <th scope="col" class="number">
          Rank
        </th>
        <th scope="col">Candidate</th>
        {isGraded && (
          <th scope="col" title="according to hidden tests, which sampling, judging and selection never see">
            Right
          </th>
        )}
        <th scope="col" class="number" title="probability that the patch is right, given all evidence of the run">
          P(right)
        </th>
        {measures.map(({ name, title, meaning }) => (
          <th key={name} scope="col" class="number" title={meaning}>
            {title}
          </th>
        ))}
        <th scope="col" title="candidates with the same letter solved exactly the same generated tests">
          Class
        </th>
        <th scope="col" class="number">
          Lines
        </th>
        <th scope="col" class="number">
          Steps
        </th>
        <th scope="col">Notes</th>
      </tr>
    </thead>
  );
}

interface RowProps {
  readonly runId: string;
  readonly candidate: CandidateEvidence;
  readonly measures: readonly Measure[];
  readonly letter: string;
  readonly isSelected: boolean;
  readonly isOpen: boolean;
  /** Models are named if there are several. */
  readonly namesModel: boolean;
  /** Null if no candidate of the run has a label. */
  readonly label: Label | undefined | null;
}

function Row({ runId, candidate, measures, letter, isSelected, isOpen, namesModel, label }: RowProps) {
  const { candidate_id: id, rank, flags, steps, model } = candidate;
  return (
    <tr class={[isSelected ? 'selected' : '', isOpen ? 'open' : ''].join(' ')}>
      <td class="number">
        {isSelected && <span title="selected">★ </span>}
        {rank ?? '–'}
      </td>
      <th scope="row">
        <a href={linkTo(['runs', runId, 'candidates', id])} aria-current={isOpen ? 'true' : undefined}>
          {id}
        </a>
        {isSelected && <span class="hidden"> selected</span>}
        {namesModel && model !== null && <span class="quiet id">{model}</span>}
      </th>
      <LabelCell label={label} />
      <ProbabilityRight candidate={candidate} />
      {measures.map((measure) => (
        <Score key={measure.name} candidate={candidate} measure={measure} />
      ))}
      <td>{letter}</td>
      <td class="number">
        <Lines candidate={candidate} />
      </td>
      <td class="number">{steps === 0 ? '–' : steps}</td>
      <td class="notes">
        <Flags flags={flags} />
      </td>
    </tr>
  );
}

function LabelCell({ label }: Pick<RowProps, 'label'>) {
  if (label === null) return null;
  return (
    <td>
      <LabelMark label={label} />
    </td>
  );
}

function ProbabilityRight({ candidate }: { candidate: CandidateEvidence }) {
  return (
    <td class="number" title={oddsOf(candidate)}>
      {candidate.p_right?.toFixed(3) ?? '–'}
    </td>
  );
}

/** Contribution of each source to the log-odds. */
function oddsOf({ log_odds: odds }: CandidateEvidence): string {
  return Object.entries(odds)
    .map(([source, added]) => `${source} ${added < 0 ? '−' : '+'}${Math.abs(added).toFixed(2)}`)
    .join(', ');
}

function Score({ candidate, measure }: { candidate: CandidateEvidence; measure: Measure }) {
  const verdict = candidate.verdicts.find((each) => each.measure === measure.name);
  const known = scoreOf(candidate, measure);
  if (known === null && verdict?.kind === 'abstained') {
    const isGap = verdict.reason === 'no-tests' && candidate.flags.includes('not-executed');
    return (
      <td class="number quiet" title={verdict.detail}>
        <span aria-hidden="true">∅</span> <span class="abstained">{isGap ? 'not executed' : verdict.reason}</span>
      </td>
    );
  }
  if (known === null) return <td class="number quiet">–</td>;
  return <Scored known={known} unit={measure.unit} />;
}

function Scored({ known: { used, own, outOf }, unit }: { readonly known: UsedScore; readonly unit: Measure['unit'] }) {
  if (own === null || outOf === null) {
    return (
      <td class="number score">
        {unit === 'probability' ? used.toFixed(3) : rounded(used)} <span class="own quiet">of an equal patch</span>
      </td>
    );
  }
  return (
    <td class="number score">
      {measured(unit === 'count' ? rounded(used) : used, outOf, unit)}
      <span class="bar" aria-hidden="true" style={{ width: `${Math.max(0, Math.min(1, used / outOf)) * 100}%` }} />
      {own !== used && (
        <span class="own quiet" title="equal patches count as one patch, with the mean of their scores">
          mean; own {measured(own, outOf, unit)}
        </span>
      )}
    </td>
  );
}

function Lines({ candidate: { patch, steps, rank } }: { readonly candidate: CandidateEvidence }) {
  // A running rollout has no patch yet.
  if (patch.characters === 0 && steps > 0 && rank === null) return <span class="quiet">–</span>;
  if (patch.problem !== null) return <span title={patch.problem}>unread</span>;
  if (patch.sha256 === null) return <span class="quiet">empty</span>;
  if (patch.files.length === 0) return <span title="The patch is too large to be listed by files.">not counted</span>;
  const sum = (side: 'added' | 'removed'): number => patch.files.reduce((total, file) => total + (file[side] ?? 0), 0);
  return (
    <span>
      <span class="plus">+{sum('added')}</span> <span class="minus">−{sum('removed')}</span>
    </span>
  );
}
