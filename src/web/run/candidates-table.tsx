import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import { linkTo } from '../route.js';
import { Flags } from './candidate-panel.js';
import { behaviourLetters } from './matrix-model.js';

const MEASURES = ['execution_free', 'regression', 'reproduction'] as const;
const NAMES = { execution_free: 'Judge', regression: 'Regression', reproduction: 'Tests' } as const;
const MEANINGS = {
  execution_free:
    'what the judge without execution says, 0 to 1: the probability that the patch is right, or is the better one',
  regression: "the repository's tests that still pass, of those that passed before",
  reproduction: 'generated tests that the patch solves, of those admitted',
} as const;

interface Props {
  readonly evidence: EvidenceView;
  readonly open: string | null;
}

export function CandidatesTable({ evidence, open }: Props) {
  const { candidates, selection, run } = evidence;
  const letters = behaviourLetters(evidence.behaviours);
  const hasModels = new Set(candidates.map(({ model }) => model)).size > 1;
  return (
    <section aria-labelledby="candidates-title">
      <h2 id="candidates-title">Candidates</h2>
      {candidates.length === 0 && <p class="quiet">There are none.</p>}
      {candidates.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of candidates">
          <table class="list candidates">
            <Head />
            <tbody>
              {candidates.map((candidate) => (
                <Row
                  key={candidate.candidate_id}
                  runId={run.id}
                  candidate={candidate}
                  letter={letters.get(candidate.candidate_id) ?? '–'}
                  isSelected={candidate.candidate_id === selection?.candidate_id}
                  isOpen={candidate.candidate_id === open}
                  namesModel={hasModels}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Head() {
  return (
    <thead>
      <tr>
        <th scope="col" class="number">
          Rank
        </th>
        <th scope="col">Candidate</th>
        {MEASURES.map((measure) => (
          <th key={measure} scope="col" class="number" title={MEANINGS[measure]}>
            {NAMES[measure]}
          </th>
        ))}
        <th scope="col" title="candidates of one letter solved exactly the same generated tests">
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
  readonly letter: string;
  readonly isSelected: boolean;
  readonly isOpen: boolean;
  /** Models are told apart where there are several. */
  readonly namesModel: boolean;
}

function Row({ runId, candidate, letter, isSelected, isOpen, namesModel }: RowProps) {
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
      {MEASURES.map((measure) => (
        <Score key={measure} candidate={candidate} measure={measure} />
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

function Score({ candidate, measure }: { candidate: CandidateEvidence; measure: (typeof MEASURES)[number] }) {
  const verdict = candidate.verdicts.find((each) => each.measure === measure);
  if (verdict === undefined) return <td class="number quiet">–</td>;
  if (verdict.kind === 'abstained') {
    return (
      <td class="number quiet" title={verdict.detail}>
        <span aria-hidden="true">∅</span> <span class="abstained">{verdict.reason}</span>
      </td>
    );
  }
  const { score, out_of } = verdict;
  return (
    <td class="number score">
      {measure === 'execution_free' ? score.toFixed(3) : `${score}/${out_of}`}
      <span class="bar" aria-hidden="true" style={{ width: `${Math.max(0, Math.min(1, score / out_of)) * 100}%` }} />
    </td>
  );
}

function Lines({ candidate: { patch } }: { readonly candidate: CandidateEvidence }) {
  if (patch.problem !== null) return <span title={patch.problem}>unread</span>;
  if (patch.files.length === 0) return <span class="quiet">empty</span>;
  const sum = (side: 'added' | 'removed'): number => patch.files.reduce((total, file) => total + (file[side] ?? 0), 0);
  return (
    <span>
      <span class="plus">+{sum('added')}</span> <span class="minus">−{sum('removed')}</span>
    </span>
  );
}
