import type { ComponentChildren, VNode } from 'preact';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { counted } from '../format.js';

/** What failed, and what to do about it, apart from what was decided. */
export function Problems({ evidence }: { readonly evidence: EvidenceView }) {
  const wrongs = [...failuresOf(evidence), ...failedTries(evidence)];
  const gaps = gapsOf(evidence);
  if (wrongs.length === 0 && gaps.length === 0) return null;
  const title = wrongs.length === 0 ? 'What nobody could judge' : 'What went wrong, and what to do';
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
      <Wrong key="failed" what={<span role="alert">It failed: {message}</span>} code={code}>
        {next}
      </Wrong>,
    );
  }
  if (run.status === 'cancelled') {
    found.push(
      <Wrong key="cancelled" what="It was cancelled.">
        What was finished is stored and not paid for again.
      </Wrong>,
    );
  }
  if (selection?.why_none != null) {
    found.push(
      <Wrong key="none" what={`No patch is returned: ${selection.why_none}.`}>
        Look at the candidates below; more of them, or tests of your own, give a decision more to go by.
      </Wrong>,
    );
  }
  return found;
}

function failedTries({ sampling }: EvidenceView): readonly VNode[] {
  const failed = sampling?.failed ?? [];
  return groups(failed, ({ code, message }) => `${code} ${message}`).map(([{ code, message, candidate_id }, all]) => (
    <Wrong key={candidate_id} code={code} what={`${counted(all.length, 'try', 'tries')} could not be made: ${message}`}>
      That says nothing about the agent. See whether the model and the engine answer, then start the run again.
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

/** Measures that say nothing of any candidate, by their reasons. */
function gapsOf(evidence: EvidenceView): readonly VNode[] {
  const { candidates, measures } = evidence;
  const gaps = measures.flatMap(({ name, title }) => {
    const verdicts = candidates.flatMap((each) => each.verdicts.filter(({ measure }) => measure === name));
    const abstained = verdicts.filter((each) => each.kind === 'abstained');
    if (abstained.length < verdicts.length) return [];
    return groups(abstained, ({ reason, detail }) => `${reason} ${detail}`).map(([{ reason, detail }, all]) => {
      const of = all.length === candidates.length ? 'any candidate' : counted(all.length, 'candidate');
      return (
        <Wrong key={`${name} ${reason} ${detail}`} code={reason} what={`${title}: no score of ${of}.`}>
          {detail}
        </Wrong>
      );
    });
  });
  const blind = (
    <Wrong key="blind" what="Every verifier abstained on every candidate:">
      no score stands behind this order.
    </Wrong>
  );
  return isBlind(evidence) ? [blind, ...gaps] : gaps;
}

/** Those of one key together, each group with its first. */
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
