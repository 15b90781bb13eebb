import { useState } from 'preact/hooks';
import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';

/** Candidates shown at first. */
const SHOWN = 12;

/** Each source's evidence for and against each candidate, as bars to the right and left of zero, with numbers. */
export function LogOdds({ evidence: { candidates, measures, selection } }: { readonly evidence: EvidenceView }) {
  const [isWhole, setIsWhole] = useState(false);
  const judged = candidates.filter(({ log_odds }) => Object.keys(log_odds).length > 0);
  if (judged.length === 0) return null;
  const sources = sourcesOf(judged);
  const most = Math.max(...judged.flatMap(({ log_odds }) => Object.values(log_odds).map(Math.abs)), 0.01);
  const shown = isWhole ? judged : judged.slice(0, SHOWN);
  return (
    <section aria-labelledby="odds-title">
      <h2 id="odds-title">Evidence by source</h2>
      <p class="figures">
        Contribution of each source to the log-odds of being right: bars to the right favour the candidate, bars to the
        left count against it.
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

type Measure = EvidenceView['measures'][number];

/** A sentence on why this patch was selected; null if none is returned. */
export function whyOf({ selection, candidates, measures }: EvidenceView): string | null {
  const selected = candidates.find(({ candidate_id }) => candidate_id === selection?.candidate_id);
  if (selection === null || selected === undefined) return null;
  const facts = measures.flatMap((measure) => factOf(selected, measure) ?? []);
  const found = facts.length === 0 ? 'It has no measurements' : `It ${facts.join(', ')}`;
  const rival = candidates.find((each) => each !== selected && each.rank !== null && each.p_right !== selected.p_right);
  if (selection.basis === 'fallback')
    return `${found}; no verdict distinguished the candidates, ${decided(selection)}.`;
  if (candidates.length === 1) return `${found}.`;
  if (rival === undefined)
    return `${found}; every other candidate is equally likely to be right, ${decided(selection)}.`;
  const ahead = leads(selected, rival, measures);
  return ahead.length === 0
    ? `${found}; ${decided(selection)}.`
    : `${found}; it leads ${rival.candidate_id} by ${ahead.join(' and ')} in log-odds.`;
}

function decided({ deciding_stage: stage }: NonNullable<EvidenceView['selection']>): string {
  return stage === null ? 'and there was nothing to decide' : `and “${stage}” decided`;
}

function factOf(candidate: CandidateEvidence, measure: Measure): string | null {
  const known = scoreOf(candidate, measure);
  if (known === null) return null;
  const { used, outOf, own } = known;
  const { kind, unit, title } = measure;
  const score = rounded(used);
  if (outOf === null) return null;
  if (kind === 'generated-tests') return `solves ${score} of ${outOf} generated tests`;
  if (kind === 'existing-tests') return `passes ${score} of ${outOf} existing tests`;
  if (kind !== 'judge' || unit !== 'probability') return null;
  const mean = own === used ? '' : ', the mean of equal patches';
  return `scores ${used.toFixed(2)} with ${judge(title)}${mean}`;
}

/** The score used for a decision: equal patches count as one patch, with the mean of their scores. */
export interface UsedScore {
  readonly used: number;
  /** Null if only an equal patch was scored. */
  readonly outOf: number | null;
  /** The candidate's own score; null likewise. */
  readonly own: number | null;
}

/** Null if nothing is known; until the run is done, only the candidate's own score is available. */
export function scoreOf({ verdicts, scores }: CandidateEvidence, { name, unit }: Measure): UsedScore | null {
  const verdict = verdicts.find(({ measure }) => measure === name);
  const used = scores[name] ?? null;
  if (verdict?.kind !== 'scored') return used === null ? null : { used, outOf: null, own: null };
  const outOf = unit === 'probability' ? 1 : verdict.out_of;
  const own = unit === 'probability' ? verdict.score / verdict.out_of : verdict.score;
  // Ignores rounding differences.
  return { used: used === null || Math.abs(used - own) < 1e-9 ? own : used, outOf, own };
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function judge(title: string): string {
  return title === 'Judge' ? 'the judge' : `the judge ${title}`;
}

/** The two sources that most favour one candidate over the other. */
function leads(selected: CandidateEvidence, rival: CandidateEvidence, measures: readonly Measure[]): readonly string[] {
  return sourcesOf([selected, rival])
    .map((source) => ({ source, by: (selected.log_odds[source] ?? 0) - (rival.log_odds[source] ?? 0) }))
    .filter(({ by }) => by >= 0.005)
    .sort((a, b) => b.by - a.by)
    .slice(0, 2)
    .map(({ source, by }) => `${sourceTitle(source, measures)} (${signed(by)})`);
}

/** All sources that contribute to a candidate's log-odds, the prior first. */
function sourcesOf(candidates: readonly CandidateEvidence[]): readonly string[] {
  const all = new Set(candidates.flatMap(({ log_odds }) => Object.keys(log_odds)));
  return [...all].sort((a, b) => Number(b === 'prior') - Number(a === 'prior'));
}

const TITLES: Readonly<Record<string, string>> = {
  prior: 'Prior',
  votes: 'Equal changes',
  submitted: 'Submitted',
  observations: 'Behaviour',
};

function sourceTitle(source: string, measures: readonly Measure[]): string {
  return TITLES[source] ?? measures.find(({ name }) => name === source)?.title ?? source;
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
}
