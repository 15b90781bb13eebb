import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { type ApiProblem, postJson, problemOf, request, runPath, saveAs } from '../api.js';
import { counted } from '../format.js';
import { Problem, useAnswer } from '../notice.js';
import { linkTo } from '../route.js';

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
      const { message, next } = problemOf(error);
      setSaid(`${message} ${next}`);
    });
  };
  const patch = async (): Promise<string> => (await request(runPath(run.id, 'patch'))).text();
  const copy = act(async () => {
    // Browsers allow it only over HTTPS or on this machine.
    if (!('clipboard' in navigator)) return 'This page cannot copy. Download the patch instead.';
    const text = patch();
    const isCopied = written(text).then(
      () => true,
      () => false,
    );
    await text;
    return (await isCopied)
      ? 'Patch copied to the clipboard.'
      : 'The browser refused to copy. Download the patch instead.';
  });
  const download = act(async () => {
    saveAs(new Blob([await patch()], { type: 'text/x-diff' }), `${asked.issue.instance_id}.diff`);
    return 'Patch downloaded.';
  });
  const cancel = act(async () => {
    await postJson(runPath(run.id, 'cancel'));
    reload();
    return 'Run cancelled.';
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

async function written(text: Promise<string>): Promise<void> {
  // Firefox before version 127.
  if (!('ClipboardItem' in window)) return navigator.clipboard.writeText(await text);
  // Safari copies only what was promised during the click.
  const item = new ClipboardItem({ 'text/plain': text.then((known) => new Blob([known], { type: 'text/plain' })) });
  return navigator.clipboard.write([item]);
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

/** Starts a new run over the same candidates and tests. Earlier executions are reused from the store. */
function RescoreForm({ evidence: { run, request } }: { readonly evidence: EvidenceView }) {
  const { data } = useAnswer<Choices>('/v1/choices');
  const [preset, setPreset] = useState('');
  const [verifiers, setVerifiers] = useState('');
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isSent, setIsSent] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setIsSent(true);
    try {
      const change = {
        ...(preset === '' ? {} : { preset }),
        ...(verifiers === '' ? {} : { verifiers: verifiers.split('+') }),
      };
      const { id } = (await postJson(runPath(run.id, 'rescore'), change)) as { id: string };
      window.location.hash = linkTo(['runs', id]);
    } catch (error) {
      setProblem(problemOf(error));
      setIsSent(false);
    }
  };
  const presets = data?.presets ?? [];
  const judges = data?.verifiers.filter((name) => name !== 'eb') ?? [];
  return (
    <form class="rescore panel" aria-label="Rescore" onSubmit={(event) => void submit(event)}>
      <Choice
        label="Preset"
        value={preset}
        options={[['', `unchanged (${request.preset})`], ...presets.map((name): [string, string] => [name, name])]}
        onChange={setPreset}
      />
      <Choice
        label="Verifiers"
        value={verifiers}
        options={[
          ['', 'unchanged'],
          ['eb', 'execution-based only'],
          ...judges.map((name): [string, string] => [name, `${name} only`]),
          ...judges.map((name): [string, string] => [`${name}+eb`, `${name} and execution-based`]),
        ]}
        onChange={setVerifiers}
      />
      <button type="submit" class="primary" disabled={isSent}>
        Start new run
      </button>
      <p class="quiet">
        The new run uses the same candidates and tests; nothing is sampled again, and budgets are not copied. A judge
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

/** Failures and their next steps, separate from the decision. */
export function Problems({ evidence }: { readonly evidence: EvidenceView }) {
  const wrongs = [...failuresOf(evidence), ...failedTries(evidence)];
  const gaps = gapsOf(evidence);
  if (wrongs.length === 0 && gaps.length === 0) return null;
  const title = wrongs.length === 0 ? 'Missing verdicts' : 'Problems and next steps';
  return (
    <section class={`problems notice ${wrongs.length === 0 ? '' : 'notice-problem'}`} aria-labelledby="problems-title">
      <h2 id="problems-title">{title}</h2>
      <ul>
        {wrongs}
        {gaps}
      </ul>
    </section>
  );
}

function failuresOf({ run, selection }: EvidenceView): readonly VNode[] {
  const found: VNode[] = [];
  if (run.failure !== null) {
    const { message, next, code } = run.failure;
    found.push(
      <Wrong key="failed" what={<span role="alert">The run failed: {message}</span>} code={code}>
        {next}
      </Wrong>,
    );
  }
  if (run.status === 'cancelled') {
    found.push(
      <Wrong key="cancelled" what="The run was cancelled.">
        Finished work is stored and will not be paid for again.
      </Wrong>,
    );
  }
  if (selection?.why_none != null) {
    found.push(
      <Wrong key="none" what={`No patch is returned: ${selection.why_none}.`}>
        Check the candidates below. More candidates, or your own tests, give the selection more evidence.
      </Wrong>,
    );
  }
  return found;
}

function failedTries({ sampling }: EvidenceView): readonly VNode[] {
  const failed = sampling?.failed ?? [];
  return groups(failed, ({ code, message }) => `${code} ${message}`).map(([{ code, message, candidate_id }, all]) => (
    <Wrong key={candidate_id} code={code} what={`${counted(all.length, 'rollout')} could not be sampled: ${message}`}>
      This does not count against the agent. Check that the model and Docker (or Kubernetes) respond, then start the run
      again.
    </Wrong>
  ));
}

interface WrongProps {
  readonly what: ComponentChildren;
  readonly code?: string;
  readonly children: ComponentChildren;
}

function Wrong({ what, code, children }: WrongProps) {
  return (
    <li>
      <strong>{what}</strong> {children} {code !== undefined && <code>{code}</code>}
    </li>
  );
}

function isBlind({ candidates }: EvidenceView): boolean {
  const verdicts = candidates.flatMap((each) => each.verdicts);
  return verdicts.length > 0 && verdicts.every(({ kind }) => kind === 'abstained');
}

/** Measures without a score for any candidate, with reasons. */
function gapsOf(evidence: EvidenceView): readonly VNode[] {
  const { candidates, measures } = evidence;
  const gaps = measures.flatMap(({ name, title }) => {
    const verdicts = candidates.flatMap((each) => each.verdicts.filter(({ measure }) => measure === name));
    const abstained = verdicts.filter((each) => each.kind === 'abstained');
    if (abstained.length < verdicts.length) return [];
    return groups(abstained, ({ reason, detail }) => `${reason} ${detail}`).map(([{ reason, detail }, all]) => {
      const of = all.length === candidates.length ? 'any candidate' : counted(all.length, 'candidate');
      return (
        <Wrong key={`${name} ${reason} ${detail}`} code={reason} what={`${title}: no score for ${of}.`}>
          {detail}
        </Wrong>
      );
    });
  });
  const blind = (
    <Wrong key="blind" what="Every verifier abstained on every candidate:">
      the ranking is not based on any score.
    </Wrong>
  );
  return isBlind(evidence) ? [blind, ...gaps] : gaps;
}

/** Groups items by key; each group comes with its first item. */
function groups<T>(all: readonly T[], keyOf: (each: T) => string): readonly (readonly [T, readonly T[]])[] {
  const found = new Map<string, [T, T[]]>();
  for (const each of all) {
    const key = keyOf(each);
    const known = found.get(key);
    if (known === undefined) found.set(key, [each, [each]]);
    else known[1].push(each);
  }
  return [...found.values()];
}
