import type { CandidateEvidence, EvidenceView } from '../../http/runs/evidence-view.js';
import { runPath } from '../api.js';
import { measured, moment, money, percent } from '../format.js';
import { Awaited, Notice, useAnswer } from '../notice.js';
import { linkTo } from '../route.js';
import { allOf, CompareTable, Fact, letter, Values } from '../comparison-columns.js';

/** Compares runs: their requests, their selections, and differences from the first. */
export function CompareRuns({ ids }: { readonly ids: readonly string[] }) {
  const answer = useAnswer<readonly EvidenceView[]>(ids.map((id) => runPath(id, 'evidence')).join(' '), allEvidence);
  return (
    <>
      <h1>Compare runs</h1>
      <p>
        <a href={linkTo(['runs'])}>← Runs</a>
      </p>
      <Awaited answer={answer} what="the runs">
        {(all) => (
          <>
            {new Set(all.map(issueOf)).size > 1 && <Notice>The runs are about different issues.</Notice>}
            {namesDiffer(all) && <Notice>Some candidates have the same name and different patches.</Notice>}
            <Settings all={all} />
            <CompareCandidates all={all} />
            <CompareTests all={all} />
          </>
        )}
      </Awaited>
    </>
  );
}

const allEvidence = allOf<EvidenceView>;

function issueOf({ request }: EvidenceView): string {
  return request.issue.instance_id;
}

/** Letters of the other runs of the same issue that selected the same patch; runs give the same names to different ones. */
export function agreesWith(all: readonly EvidenceView[], index: number): string {
  const patches = all.map((each) => [issueOf(each), selectedPatch(each)] as const);
  const [issue, patch] = patches[index] ?? [];
  const letters = patches.flatMap(([otherIssue, other], at) =>
    at !== index && patch != null && otherIssue === issue && other === patch ? [letter(at)] : [],
  );
  return letters.length === 0 ? 'none' : letters.join(', ');
}

function selectedPatch({ selection, candidates }: EvidenceView): string | null {
  return candidates.find(({ candidate_id }) => candidate_id === selection?.candidate_id)?.patch.sha256 ?? null;
}

/** Whether candidates of the same name have different patches. */
export function namesDiffer(all: readonly EvidenceView[]): boolean {
  const known = new Map<string, string | null>();
  return all
    .flatMap(({ candidates }) => candidates)
    .some(({ candidate_id, patch: { sha256 } }) => {
      const other = known.get(candidate_id);
      known.set(candidate_id, sha256);
      return other !== undefined && other !== sha256;
    });
}

function selectedOf({ selection }: EvidenceView): string {
  return selection?.candidate_id ?? 'none';
}

const FACTS: readonly (readonly [string, (evidence: EvidenceView) => string])[] = [
  ['Issue', issueOf],
  ['Status', ({ run }) => run.status],
  ['Selected', selectedOf],
  ['Decided by', ({ selection }) => selection?.deciding_stage ?? '–'],
  ['Basis', ({ selection }) => selection?.basis ?? '–'],
  ['Confidence', ({ selection }) => (selection?.confidence == null ? 'not calibrated' : percent(selection.confidence))],
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

type All = { readonly all: readonly EvidenceView[] };

function Settings({ all }: All) {
  return (
    <section aria-labelledby="settings-title">
      <h2 id="settings-title">Settings and selection</h2>
      <CompareTable
        label="Settings"
        heads={all.map(({ run }, index) => (
          <>
            {letter(index)}: <a href={linkTo(['runs', run.id])}>{run.id}</a>
            <span class="cell-facts">created {moment(run.created_at)}</span>
          </>
        ))}
      >
        <tr>
          <th scope="row">Agrees with</th>
          {all.map((_, index) => (
            <td key={letter(index)}>{agreesWith(all, index)}</td>
          ))}
        </tr>
        {FACTS.map(([name, read]) => (
          <Fact key={name} name={name} values={all.map(read)} />
        ))}
      </CompareTable>
    </section>
  );
}

/** Short, and equal if all prompts are equal. */
function fingerprint(hashes: Readonly<Record<string, string>>): string {
  const values = Object.entries(hashes).map(([name, hash]) => `${name}${hash}`);
  return values.length === 0 ? '–' : `${values.length} prompts, ${digest(values.sort().join())}`;
}

function digest(text: string): string {
  let hash = 5_381;
  for (let index = 0; index < text.length; index += 1) hash = ((hash * 33) ^ text.charCodeAt(index)) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

/** Candidates of all runs by id, in the order of the first run. */
function CompareCandidates({ all }: All) {
  const known = all.map(byId);
  const ids = [...new Set(known.flatMap((of) => [...of.keys()]))];
  const measures = [...new Map(all.flatMap((each) => each.measures).map((each) => [each.name, each])).values()];
  return (
    <section aria-labelledby="ranking-title">
      <h2 id="ranking-title">Ranking and scores</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of ranks and scores">
        <table class="list compare">
          <thead>
            <tr>
              <th scope="col">Candidate</th>
              {['Rank', ...measures.map(({ title }) => title)].flatMap((name) =>
                all.map((_, index) => (
                  <th key={`${name} ${letter(index)}`} scope="col" class="number">
                    {name} {letter(index)}
                  </th>
                )),
              )}
            </tr>
          </thead>
          <tbody>
            {ids.map((id) => (
              <tr key={id}>
                <th scope="row">{id}</th>
                <Values values={all.map((each, index) => rankOf(known[index]?.get(id), each))} className="number" />
                {measures.map((measure) => (
                  <Values
                    key={measure.name}
                    values={known.map((of) => scoreOf(of.get(id), measure))}
                    className="number"
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

function byId({ candidates }: EvidenceView): ReadonlyMap<string, CandidateEvidence> {
  return new Map(candidates.map((candidate) => [candidate.candidate_id, candidate]));
}

function rankOf(candidate: CandidateEvidence | undefined, { selection }: EvidenceView): string {
  if (candidate === undefined) return 'absent';
  const mark = candidate.candidate_id === selection?.candidate_id ? '★ ' : '';
  return `${mark}${candidate.rank ?? '–'}`;
}

function scoreOf(candidate: CandidateEvidence | undefined, { name, unit }: EvidenceView['measures'][number]): string {
  const verdict = candidate?.verdicts.find((each) => each.measure === name);
  if (verdict === undefined) return '–';
  if (verdict.kind === 'abstained') return `∅ ${verdict.reason}`;
  return measured(verdict.score, verdict.out_of, unit);
}

/** Which generated tests each run used, and their quality. */
function CompareTests({ all }: All) {
  const ids = [...new Set(all.flatMap(({ admissions }) => admissions.map(({ test_id }) => test_id)))];
  if (ids.length === 0) return null;
  return (
    <section aria-labelledby="tests-title">
      <h2 id="tests-title">Generated tests</h2>
      <CompareTable label="Table of generated tests" lines="Test" heads={all.map((_, index) => letter(index))}>
        {ids.map((id) => (
          <tr key={id}>
            <th scope="row">{id}</th>
            <Values values={all.map((each) => wordOn(each, id))} />
          </tr>
        ))}
      </CompareTable>
    </section>
  );
}

function wordOn({ admissions, test_quality }: EvidenceView, id: string): string {
  const admission = admissions.find(({ test_id }) => test_id === id);
  if (admission === undefined) return 'absent';
  if (!admission.admitted) return `✕ it ${admission.reason ?? 'was rejected'}`;
  const quality = test_quality.find(({ test_id }) => test_id === id);
  return quality === undefined ? '✓ admitted' : `✓ solved by ${quality.solved_by} of ${quality.of}`;
}
