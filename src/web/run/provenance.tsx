import type { EvidenceView } from '../../http/runs/evidence-view.js';
import type { RunView } from '../../http/runs/run-views.js';
import { runPath } from '../api.js';
import { count, seconds } from '../format.js';
import { useAnswer } from '../notice.js';

/** What the decision depended on besides its request, and the resources used. */
export function Provenance({ evidence: { run, provenance, usage, request } }: { readonly evidence: EvidenceView }) {
  if (provenance === null) return null;
  const agents = provenance.agent === null ? provenance.agents : [provenance.agent];
  const facts: [string, string][] = [
    ['bestk', provenance.bestk_version],
    ['Image', provenance.image_id ?? 'nothing was executed'],
    ['Judge', provenance.verifier_model ?? 'none'],
    ['Test writer', provenance.test_model ?? 'none'],
    [
      'Agent',
      agents.length === 0
        ? 'candidates were given'
        : agents
            .map(({ name, model, format }) => `${name === null ? '' : `${name}: `}${model}, format ${format}`)
            .join('; '),
    ],
    ['Verifiers', provenance.verifiers.join(', ')],
    ['Seed', String(request.seed)],
  ];
  return (
    <section aria-labelledby="provenance-title">
      <details>
        <summary>
          <h2 id="provenance-title">Provenance and usage</h2>
        </summary>
        <dl class="facts">
          {facts.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
        </dl>
        {usage !== null && usage.models.length > 0 && <Usage models={usage.models} />}
        <Workers id={run.id} />
        <Prompts hashes={provenance.prompt_hashes} />
      </details>
    </section>
  );
}

function Prompts({ hashes }: { readonly hashes: NonNullable<EvidenceView['provenance']>['prompt_hashes'] }) {
  const prompts = Object.entries(hashes);
  if (prompts.length === 0) return null;
  return (
    <>
      <h3>Prompts</h3>
      <dl class="facts">
        {prompts.map(([name, hash]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} hash`}>
            <code>{hash.slice(0, 16)}</code>
          </dd>,
        ])}
      </dl>
    </>
  );
}

function Usage({ models }: { readonly models: NonNullable<EvidenceView['usage']>['models'] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Model calls">
      <table class="list">
        <thead>
          <tr>
            {['Purpose', 'Model', 'Calls', 'Stored', 'Input', 'Cached', 'Output', 'Time'].map((name, index) => (
              <th key={name} scope="col" class={index > 1 ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {models.map((each) => (
            <tr key={`${each.purpose} ${each.model}`}>
              <th scope="row">{each.purpose}</th>
              <td>{each.model}</td>
              <td class="number">{count(each.calls)}</td>
              <td class="number">{count(each.stored_answers)}</td>
              <td class="number">{count(each.input_tokens)}</td>
              <td class="number">{count(each.cached_input_tokens)}</td>
              <td class="number">{count(each.output_tokens)}</td>
              <td class="number">{seconds(each.seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const COLUMNS = ['Process', 'Rollouts', 'Verdicts', 'Test suites', 'Total time'];

/** The work done by each process, for a run that has ended. */
export function Workers({ id }: { readonly id: string }) {
  const workers = useAnswer<RunView>(runPath(id)).data?.progress.workers ?? [];
  if (workers.length === 0) return null;
  return (
    <>
      <h3>Work by process</h3>
      <div class="scroll" tabIndex={0} role="region" aria-label="Work by process">
        <table class="list">
          <thead>
            <tr>
              {COLUMNS.map((name, index) => (
                <th key={name} scope="col" class={index > 0 ? 'number' : undefined}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {workers.map((each) => (
              <tr key={each.worker}>
                <th scope="row">{each.worker}</th>
                <td class="number">{count(each.rollout)}</td>
                <td class="number">{count(each.verdict)}</td>
                <td class="number">{count(each.cells)}</td>
                <td class="number">{seconds(each.seconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

type Stage = NonNullable<EvidenceView['selection']>['stages'][number];

/** The stages of the hybrid: how many candidates stayed, and which were dropped, at each stage. */
export function Stages({ stages, deciding }: { readonly stages: readonly Stage[]; readonly deciding: string | null }) {
  if (stages.length === 0) return null;
  return (
    <section aria-labelledby="stages-title">
      <h2 id="stages-title">Stages</h2>
      <ol class="stages">
        {stages.map((stage, index) => (
          <li key={index} class={stage.name === deciding ? 'deciding' : undefined}>
            <strong>{stage.name}</strong>
            {stage.name === deciding && <span class="tag">decided</span>}
            {stage.skipped !== null && <span class="quiet"> skipped: {stage.skipped}</span>}
            <span class="kept"> {stage.kept.length} kept</span>
            {stage.dropped.length > 0 && <Dropped ids={stage.dropped} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Dropped({ ids }: { readonly ids: readonly string[] }) {
  return (
    <span class="quiet">
      , dropped:{' '}
      {ids.map((id) => (
        <code key={id}>{id} </code>
      ))}
    </span>
  );
}
