import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import { runPath } from '../api.js';
import { measured, moment, money } from '../format.js';
import { Loading, Notice, Problem } from '../notice.js';
import { linkTo } from '../route.js';
import { useAnswer } from '../use-answer.js';

/** Two runs beside each other: what was asked, what was selected, and where they differ. */
export function ComparePage({ left, right }: { readonly left: string; readonly right: string }) {
  const a = useAnswer<EvidenceView>(runPath(left, 'evidence'));
  const b = useAnswer<EvidenceView>(runPath(right, 'evidence'));
  const problem = a.problem ?? b.problem;
  if (problem !== null) {
    return (
      <>
        <h1>Compare</h1>
        <Problem problem={problem} />
      </>
    );
  }
  if (a.data === null || b.data === null) {
    return (
      <>
        <h1>Compare</h1>
        <Loading what="two runs" />
      </>
    );
  }
  const sameIssue = a.data.request.issue.instance_id === b.data.request.issue.instance_id;
  return (
    <>
      <h1>Compare</h1>
      {!sameIssue && <Notice>The runs are about different issues: candidates of one name need not be one.</Notice>}
      <Settings a={a.data} b={b.data} />
      <CompareCandidates a={a.data} b={b.data} />
      <CompareTests a={a.data} b={b.data} />
    </>
  );
}

const FACTS: readonly (readonly [string, (evidence: EvidenceView) => string])[] = [
  ['Issue', ({ request }) => request.issue.instance_id],
  ['Status', ({ run }) => run.status],
  ['Selected', ({ selection }) => selection?.candidate_id ?? 'none'],
  ['Decided by', ({ selection }) => selection?.deciding_stage ?? '–'],
  ['Basis', ({ selection }) => selection?.basis ?? '–'],
  ['Confidence', ({ selection }) => String(selection?.confidence ?? 'not calibrated')],
  ['Preset', ({ request }) => request.preset],
  ['Verifiers', ({ provenance, request }) => (provenance?.verifiers ?? request.verifiers ?? ['default']).join(', ')],
  ['K', ({ request }) => `${request.k} ${request.given ? 'given' : 'sampled'}`],
  ['Seed', ({ request }) => String(request.seed)],
  ['Judge', ({ provenance }) => provenance?.verifier_model ?? 'none'],
  ['Image', ({ provenance, request }) => provenance?.image_id ?? request.issue.environment.image],
  ['Prompts', ({ provenance }) => fingerprint(provenance?.prompt_hashes ?? {})],
  ['bestk', ({ provenance }) => provenance?.bestk_version ?? '–'],
  [
    'Tests admitted',
    ({ statistics }) => (statistics === null ? '–' : `${statistics.tests_admitted} of ${statistics.tests_given}`),
  ],
  ['Cost', ({ usage }) => (usage?.cost_usd == null ? 'not known' : money(usage.cost_usd))],
];

function Settings({ a, b }: { readonly a: EvidenceView; readonly b: EvidenceView }) {
  return (
    <section aria-labelledby="settings-title">
      <h2 id="settings-title">Settings and selection</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Settings">
        <table class="list compare">
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden">What</span>
              </th>
              <RunHead evidence={a} name="A" />
              <RunHead evidence={b} name="B" />
            </tr>
          </thead>
          <tbody>
            {FACTS.map(([name, read]) => (
              <Fact key={name} name={name} left={read(a)} right={read(b)} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function RunHead({ evidence: { run }, name }: { readonly evidence: EvidenceView; readonly name: string }) {
  return (
    <th scope="col">
      {name}: <a href={linkTo(['runs', run.id])}>{run.id}</a>, made {moment(run.created_at)}
    </th>
  );
}

function Fact({ name, left, right }: { readonly name: string; readonly left: string; readonly right: string }) {
  const differs = left !== right;
  return (
    <tr class={differs ? 'differs' : undefined}>
      <th scope="row">
        {name}
        {differs && <span class="tag">differs</span>}
      </th>
      <td>{left}</td>
      <td>{right}</td>
    </tr>
  );
}

/** Short, and equal where all prompts are. */
function fingerprint(hashes: Readonly<Record<string, string>>): string {
  const values = Object.entries(hashes).map(([name, hash]) => `${name}${hash}`);
  return values.length === 0 ? '–' : `${values.length} prompts, ${digest(values.sort().join())}`;
}

function digest(text: string): string {
  let hash = 5_381;
  for (let index = 0; index < text.length; index += 1) hash = ((hash * 33) ^ text.charCodeAt(index)) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

/** Candidates of both runs by id, in the order of the first. */
export function CompareCandidates({ a, b }: { readonly a: EvidenceView; readonly b: EvidenceView }) {
  const left = byId(a);
  const right = byId(b);
  const ids = [...new Set([...left.keys(), ...right.keys()])];
  const measures = [...new Map([...a.measures, ...b.measures].map((each) => [each.name, each])).values()];
  return (
    <section aria-labelledby="ranking-title">
      <h2 id="ranking-title">Ranking and scores</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of ranks and scores">
        <table class="list compare">
          <thead>
            <tr>
              <th scope="col">Candidate</th>
              {['Rank', ...measures.map(({ title }) => title)].flatMap((name) => [
                <th key={`${name} A`} scope="col" class="number">
                  {name} A
                </th>,
                <th key={`${name} B`} scope="col" class="number">
                  {name} B
                </th>,
              ])}
            </tr>
          </thead>
          <tbody>
            {ids.map((id) => (
              <tr key={id}>
                <th scope="row">{id}</th>
                <Pair left={rankOf(left.get(id), a)} right={rankOf(right.get(id), b)} />
                {measures.map((measure) => (
                  <Pair
                    key={measure.name}
                    left={scoreOf(left.get(id), measure)}
                    right={scoreOf(right.get(id), measure)}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Pair({ left, right }: { readonly left: string; readonly right: string }) {
  const differs = left !== right;
  return (
    <>
      <td class="number">{left}</td>
      <td class={differs ? 'number differs' : 'number'}>
        {differs && <span aria-label="differs">≠ </span>}
        {right}
      </td>
    </>
  );
}

function byId({ candidates }: EvidenceView): ReadonlyMap<string, CandidateEvidence> {
  return new Map(candidates.map((candidate) => [candidate.candidate_id, candidate]));
}

function rankOf(candidate: CandidateEvidence | undefined, { selection }: EvidenceView): string {
  if (candidate === undefined) return 'not there';
  const mark = candidate.candidate_id === selection?.candidate_id ? '★ ' : '';
  return `${mark}${candidate.rank ?? '–'}`;
}

function scoreOf(candidate: CandidateEvidence | undefined, { name, unit }: EvidenceView['measures'][number]): string {
  const verdict = candidate?.verdicts.find((each) => each.measure === name);
  if (verdict === undefined) return '–';
  if (verdict.kind === 'abstained') return `∅ ${verdict.reason}`;
  return measured(verdict.score, verdict.out_of, unit);
}

/** Which generated tests took part in each run, and what they were worth. */
export function CompareTests({ a, b }: { readonly a: EvidenceView; readonly b: EvidenceView }) {
  const ids = [...new Set([...a.admissions, ...b.admissions].map(({ test_id }) => test_id))];
  if (ids.length === 0) return null;
  return (
    <section aria-labelledby="tests-title">
      <h2 id="tests-title">Generated tests</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of generated tests">
        <table class="list compare">
          <thead>
            <tr>
              <th scope="col">Test</th>
              <th scope="col">A</th>
              <th scope="col">B</th>
            </tr>
          </thead>
          <tbody>
            {ids.map((id) => {
              const [left, right] = [wordOn(a, id), wordOn(b, id)];
              return (
                <tr key={id} class={left === right ? undefined : 'differs'}>
                  <th scope="row">{id}</th>
                  <td>{left}</td>
                  <td>
                    {left !== right && <span aria-label="differs">≠ </span>}
                    {right}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function wordOn({ admissions, test_quality }: EvidenceView, id: string): string {
  const admission = admissions.find(({ test_id }) => test_id === id);
  if (admission === undefined) return 'not there';
  if (!admission.admitted) return `✕ it ${admission.reason ?? 'was refused'}`;
  const quality = test_quality.find(({ test_id }) => test_id === id);
  return quality === undefined ? '✓ admitted' : `✓ solved by ${quality.solved_by} of ${quality.of}`;
}
