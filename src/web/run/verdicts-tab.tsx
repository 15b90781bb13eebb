import { useState } from 'preact/hooks';
import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import type { JudgePromptView } from '../../http/runs/judge-prompt-view.js';
import { queryOf, runPath } from '../api.js';
import { counted, measured } from '../format.js';
import { Awaited, Notice, useAnswer } from '../notice.js';

type Verdict = CandidateEvidence['verdicts'][number];

/** Each verifier's verdict on the candidate, with its evidence. */
export function VerdictsTab({ evidence, candidate }: { evidence: EvidenceView; candidate: CandidateEvidence }) {
  const { verdicts } = candidate;
  return (
    <>
      {verdicts.length === 0 && <p class="quiet">There are no verdicts yet.</p>}
      {verdicts.map((verdict) => (
        <section key={verdict.measure} class="verdict" aria-label={verdict.measure}>
          <h3>
            {verdict.measure}: <Word verdict={verdict} measures={evidence.measures} />
          </h3>
          <Facts evidence={verdict.evidence} />
          <LooksText looks={verdict.evidence.looks} />
        </section>
      ))}
      <JudgeViews evidence={evidence} candidate={candidate} />
    </>
  );
}

function Word({ verdict, measures }: { readonly verdict: Verdict } & Pick<EvidenceView, 'measures'>) {
  if (verdict.kind === 'abstained') {
    return (
      <span>
        abstained, {verdict.reason} <span class="quiet">{verdict.detail}</span>
      </span>
    );
  }
  const unit = measures.find(({ name }) => name === verdict.measure)?.unit ?? 'score';
  return <span>{measured(verdict.score, verdict.out_of, unit, 4)}</span>;
}

function Facts({ evidence }: { readonly evidence: Verdict['evidence'] }) {
  const entries = Object.entries(evidence).filter(([name]) => name !== 'looks');
  if (entries.length === 0) return null;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => [
        <dt key={name}>{name.replaceAll('_', ' ')}</dt>,
        <dd key={`${name} value`}>{said(value)}</dd>,
      ])}
    </dl>
  );
}

interface LookText {
  readonly verdict?: string;
  readonly failed?: string;
  readonly reasons?: string;
  readonly commands?: readonly { readonly step: number; readonly command: string; readonly exit_code: number | null }[];
}

/** Verdict and reasons of each pass of an agent judge, with the commands it ran. */
function LooksText({ looks }: { readonly looks: unknown }) {
  if (!Array.isArray(looks)) return null;
  return (
    <ol aria-label="Looks">
      {(looks as readonly LookText[]).map(({ verdict, failed, reasons, commands = [] }, index) => (
        <li key={index}>
          {verdict ?? `no vote, ${failed ?? 'unknown'}`} <span class="quiet">{reasons}</span>
          {commands.map(({ step, command, exit_code: exit }) => (
            <details key={step}>
              <summary>
                Step {step}
                {exit === null ? '' : `, exit code ${exit}`}
              </summary>
              <pre tabIndex={0}>{command}</pre>
            </details>
          ))}
        </li>
      ))}
    </ol>
  );
}

function said(value: Verdict['evidence'][string]): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(Math.round(value * 10_000) / 10_000);
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(said).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, each]) => `${name} ${said(each)}`)
    .join(', ');
}

/** The input of each judge. */
function JudgeViews({ evidence, candidate }: { evidence: EvidenceView; candidate: CandidateEvidence }) {
  const judges = new Set(evidence.measures.filter(({ kind }) => kind === 'judge').map(({ name }) => name));
  const judged = candidate.verdicts.filter(({ measure }) => judges.has(measure));
  return (
    <>
      {judged.map((verdict, index) => (
        <section key={verdict.measure} class="judge" aria-labelledby={`judge-${index}`}>
          <h3 id={`judge-${index}`}>What {judged.length === 1 ? 'the judge' : verdict.measure} saw</h3>
          <JudgeView verdict={verdict} evidence={evidence} candidate={candidate} />
          <JudgePromptText run={evidence.run.id} candidate={candidate.candidate_id} measure={verdict.measure} />
        </section>
      ))}
    </>
  );
}

interface JudgeOfOne {
  readonly verdict: Verdict;
  readonly evidence: EvidenceView;
  readonly candidate: CandidateEvidence;
}

function JudgeView({ verdict, evidence, candidate }: JudgeOfOne) {
  const { condensed, prompt_hash: hash, disagrees, without_thoughts: blind, shown, summary, model } = verdict.evidence;
  return (
    <>
      <ul>
        <li>{shownOf(verdict.evidence, candidate)}</li>
        {sectionsIn(shown).map((words) => (
          <li key={words}>{words}</li>
        ))}
        {condensed === true && <li>Condensed: old observations were shortened or omitted to fit the prompt limit.</li>}
        {condensed === false && <li>Complete: nothing was omitted.</li>}
        {disagrees === true && (
          <li>
            ⚠ Without the agent's thoughts it said {typeof blind === 'number' ? blind.toFixed(3) : 'something else'}: it
            may have believed the agent.
          </li>
        )}
      </ul>
      <SummaryText summary={summary} />
      <Notice>
        Template <code>{typeof hash === 'string' ? hash.slice(0, 16) : 'unknown'}</code>, model{' '}
        {typeof model === 'string' ? model : (evidence.provenance?.verifier_model ?? 'unknown')}.
      </Notice>
    </>
  );
}

/** The material that a judge saw for a verdict. */
function shownOf(
  { looks, summary, problem, method, beats }: Verdict['evidence'],
  { steps }: CandidateEvidence,
): string {
  if (looks !== undefined) {
    return 'The issue, the patch, and the repository with the patch applied, in a separate container.';
  }
  if (problem !== undefined)
    return 'The patch without the issue, then the issue together with its own description of the problem.';
  if (typeof method === 'string' && method.startsWith('critic-')) {
    const traced = steps > 0 && method !== 'critic-score';
    return traced ? `The issue and ${counted(steps, 'step')}, without the patch.` : 'The issue and the patch.';
  }
  const work = summary == null ? counted(steps, 'step') : 'a summary of the work';
  const beside = beats === undefined ? '' : ' It also saw the same of a second candidate, in both orders.';
  return `The issue, ${work} and the patch, each fenced by a separate mark.${beside}`;
}

const SECTIONS: Readonly<Record<string, string>> = {
  source: 'The repository’s source around the change.',
  tests: 'Test results of the patch.',
  flags: 'A note that the agent looked for the answer elsewhere.',
};

function sectionsIn(shown: unknown): readonly string[] {
  return Array.isArray(shown) ? shown.flatMap((name) => SECTIONS[String(name)] ?? []) : [];
}

/** A model's summary of the attempt, used by judges that compare two candidates. */
function SummaryText({ summary }: { readonly summary: unknown }) {
  if (typeof summary !== 'object' || summary === null) return null;
  const said = Object.entries(summary).map(([name, text]) => [name, [text].flat().join(', ')] as const);
  return (
    <dl aria-label="Summary">
      {said
        .filter(([, text]) => text !== '')
        .map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Prompts are long: this many characters are shown at first, the rest on request. */
const SHOWN = 20_000;

interface PromptOf {
  readonly run: string;
  readonly candidate: string;
  /** The measure that identifies the judge. */
  readonly measure: string;
}

/** The judge's prompts, rendered again by the service when opened, one at a time. */
function JudgePromptText({ run, candidate, measure }: PromptOf) {
  const [open, setOpen] = useState(false);
  const [question, setQuestion] = useState(0);
  const query = queryOf({ measure, question: question === 0 ? null : question });
  const path = `${runPath(run, 'candidates', candidate, 'judge-prompt')}${query}`;
  const answer = useAnswer<JudgePromptView>(open ? path : null);
  return (
    <details
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
      }}
    >
      <summary>Prompt</summary>
      {open && (
        <Awaited answer={answer} what="the prompt">
          {({ messages, questions, compared_with: other, same_template, left_out }) => (
            <>
              {other !== null && <Notice>Compared with {other}.</Notice>}
              {questions > 1 && (
                <p>
                  Question {question + 1} of {questions}.{' '}
                  <button
                    type="button"
                    onClick={() => {
                      setQuestion((question + 1) % questions);
                    }}
                  >
                    {question + 1 < questions ? 'Next' : 'First'}
                  </button>
                </p>
              )}
              {left_out.length > 0 && (
                <Notice>The judge also saw sections that are omitted here: {left_out.join(', ')}.</Notice>
              )}
              {same_template === false && (
                <Notice>
                  The template or its settings have changed since, so this is not exactly the prompt that was sent.
                </Notice>
              )}
              {messages.map(({ role, content }, index) => (
                <Message key={index} role={role} content={content} />
              ))}
            </>
          )}
        </Awaited>
      )}
    </details>
  );
}

function Message({ role, content }: { readonly role: string; readonly content: string }) {
  const [whole, setWhole] = useState(false);
  return (
    <section aria-label={role}>
      <h4>{role}</h4>
      <pre tabIndex={0}>{whole ? content : content.slice(0, SHOWN)}</pre>
      {!whole && content.length > SHOWN && (
        <button
          type="button"
          onClick={() => {
            setWhole(true);
          }}
        >
          All {content.length.toLocaleString('en')} characters
        </button>
      )}
    </section>
  );
}
