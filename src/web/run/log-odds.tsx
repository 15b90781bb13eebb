import { useState } from 'preact/hooks';
import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import { signed, sourcesOf, sourceTitle } from './why.js';

/** Candidates that stand there at once. */
const SHOWN = 12;

/** What each source says for and against each candidate: bars to the right and to the left of nothing, with their numbers. */
export function LogOdds({ evidence: { candidates, measures, selection } }: { readonly evidence: EvidenceView }) {
  const [isWhole, setIsWhole] = useState(false);
  const judged = candidates.filter(({ log_odds }) => Object.keys(log_odds).length > 0);
  if (judged.length === 0) return null;
  const sources = sourcesOf(judged);
  const most = Math.max(...judged.flatMap(({ log_odds }) => Object.values(log_odds).map(Math.abs)), 0.01);
  const shown = isWhole ? judged : judged.slice(0, SHOWN);
  return (
    <section aria-labelledby="odds-title">
      <h2 id="odds-title">What speaks for each</h2>
      <p class="figures">
        Each source adds to the log-odds of being right: bars to the right speak for a candidate, to the left against
        it.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Log-odds by source">
        <table class="list odds">
          <thead>
            <tr>
              <th scope="col">Candidate</th>
              {sources.map((source) => (
                <th key={source} scope="col">
                  {sourceTitle(source, measures)}
                </th>
              ))}
              <th scope="col" class="number">
                P(right)
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((candidate) => (
              <tr
                key={candidate.candidate_id}
                class={candidate.candidate_id === selection?.candidate_id ? 'selected' : ''}
              >
                <th scope="row">
                  <code>{candidate.candidate_id}</code>
                </th>
                {sources.map((source) => (
                  <Odds key={source} added={candidate.log_odds[source]} most={most} />
                ))}
                <Chance candidate={candidate} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < judged.length && (
        <button
          type="button"
          onClick={() => {
            setIsWhole(true);
          }}
        >
          {judged.length - shown.length} more
        </button>
      )}
    </section>
  );
}

function Odds({ added, most }: { readonly added: number | undefined; readonly most: number }) {
  if (added === undefined) return <td class="quiet">–</td>;
  const width = `${(Math.abs(added) / most) * 50}%`;
  const side = added < 0 ? { right: '50%', width } : { left: '50%', width };
  return (
    <td>
      <span class="odds-number">{signed(added)}</span>
      <span class="odds-axis" aria-hidden="true">
        <span class={added < 0 ? 'odds-bar against' : 'odds-bar'} style={side} />
      </span>
    </td>
  );
}

function Chance({ candidate: { p_right } }: { readonly candidate: CandidateEvidence }) {
  return <td class="number">{p_right?.toFixed(3) ?? '–'}</td>;
}
