import { useState } from 'preact/hooks';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { ApiProblem, postJson, request, runPath } from '../api.js';
import { Problem, useAnswer } from '../notice.js';
import { linkTo } from '../route.js';
import { saveAs } from '../save-as.js';

interface Props {
  readonly evidence: EvidenceView;
  readonly status: EvidenceView['run']['status'];
  readonly reload: () => void;
}

export function RunActions({ evidence, status, reload }: Props) {
  const [said, setSaid] = useState('');
  const [asksRescore, setAsksRescore] = useState(false);
  const { run, request: asked, selection, candidates } = evidence;
  const act = (work: () => Promise<string>) => (): void => {
    work().then(setSaid, (error: unknown) => {
      setSaid(error instanceof ApiProblem ? `${error.message} ${error.next}` : String(error));
    });
  };
  const patch = async (): Promise<string> => (await request(runPath(run.id, 'patch'))).text();
  const copy = act(async () => {
    await navigator.clipboard.writeText(await patch());
    return 'The patch is in the clipboard.';
  });
  const download = act(async () => {
    saveAs(new Blob([await patch()], { type: 'text/x-diff' }), `${asked.issue.instance_id}.diff`);
    return 'The patch was handed to the downloads.';
  });
  const cancel = act(async () => {
    await postJson(runPath(run.id, 'cancel'));
    reload();
    return 'It is cancelled.';
  });
  const hasPatch = status === 'done' && typeof selection?.candidate_id === 'string';
  const moves = status === 'queued' || status === 'running';
  return (
    <>
      <p class="actions">
        {hasPatch && <Button onClick={copy}>Copy patch</Button>}
        {hasPatch && <Button onClick={download}>Download patch</Button>}
        {moves && <Button onClick={cancel}>Cancel run</Button>}
        {candidates.length > 0 && (
          <button
            type="button"
            aria-expanded={asksRescore}
            onClick={() => {
              setAsksRescore(!asksRescore);
            }}
          >
            Rescore …
          </button>
        )}
        <span role="status">{said}</span>
      </p>
      {asksRescore && <RescoreForm evidence={evidence} />}
    </>
  );
}

function Button({ onClick, children }: { onClick: () => void; children: string }) {
  return (
    <button type="button" onClick={onClick}>
      {children}
    </button>
  );
}

interface Choices {
  readonly presets: readonly string[];
  readonly verifiers: readonly string[];
}

/** A new run over the same candidates and tests. What was executed before is taken from the store. */
export function RescoreForm({ evidence: { run, request } }: { readonly evidence: EvidenceView }) {
  const { data } = useAnswer<Choices>('/v1/choices');
  const [preset, setPreset] = useState(request.preset);
  const [verifiers, setVerifiers] = useState('');
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const change = verifiers === '' ? { preset } : { preset, verifiers: verifiers.split('+') };
      const { id } = (await postJson(runPath(run.id, 'rescore'), change)) as { id: string };
      window.location.hash = linkTo(['runs', id]);
    } catch (error) {
      setProblem(error instanceof ApiProblem ? error : new ApiProblem(String(error), 0, ''));
    }
  };
  const judges = data?.verifiers.filter((name) => name !== 'eb') ?? [];
  return (
    <form class="rescore panel" aria-label="Rescore" onSubmit={(event) => void submit(event)}>
      <Choice
        label="Preset"
        value={preset}
        options={(data?.presets ?? [preset]).map((name) => [name, name])}
        onChange={setPreset}
      />
      <Choice
        label="Verifiers"
        value={verifiers}
        options={[
          ['', 'as before'],
          ['eb', 'execution-based alone'],
          ...judges.map((name): [string, string] => [name, `${name} alone`]),
          ...judges.map((name): [string, string] => [`${name}+eb`, `${name} and execution-based`]),
        ]}
        onChange={setVerifiers}
      />
      <button type="submit" class="primary">
        Start the new run
      </button>
      <p class="quiet">
        The candidates and the tests stay; trajectories are not sampled again, and budgets are not taken over. A judge
        needs a model in the service's settings.
      </p>
      {problem !== null && <Problem problem={problem} />}
    </form>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label>
      {label}{' '}
      <select
        value={value}
        onChange={(event) => {
          onChange(event.currentTarget.value);
        }}
      >
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
