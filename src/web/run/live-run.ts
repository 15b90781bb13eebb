import { useEffect, useState } from 'preact/hooks';
import type { CellView, EvidenceView } from '../../http/runs/evidence-view.js';
import type { RunEvent } from '../../ports/run-store.js';
import { ApiProblem, request, runPath } from '../api.js';

/** A try as far as it has come. */
export interface LiveTry {
  readonly steps: number;
  readonly tool: string;
  /** Null while it goes on. */
  readonly ended: { readonly reason: string; readonly patchLines: number; readonly tokens: number } | null;
}

type LiveVerdict = EvidenceView['candidates'][number]['verdicts'][number];

/** A run as its journal tells it. */
export interface Live {
  readonly status: EvidenceView['run']['status'] | null;
  readonly ended: boolean;
  readonly events: number;
  readonly tries: ReadonlyMap<string, LiveTry>;
  readonly cells: readonly CellView[];
  readonly admissions: EvidenceView['admissions'];
  readonly verdicts: readonly LiveVerdict[];
  /** The last events, newest last. */
  readonly recent: readonly RunEvent[];
}

export const NOTHING_YET: Live = {
  status: null,
  ended: false,
  events: 0,
  tries: new Map(),
  cells: [],
  admissions: [],
  verdicts: [],
  recent: [],
};

const RECENT = 30;
const ENDED = ['done', 'failed', 'cancelled'];

export function withEvents(live: Live, events: readonly RunEvent[]): Live {
  const tries = new Map(live.tries);
  const told = events.reduce<Live>((known, event) => ({ ...known, ...changeBy(event, known, tries) }), live);
  return {
    ...told,
    tries,
    events: live.events + events.length,
    cells: [...told.cells, ...dataOf(events, 'cell').map((cell) => ({ ...UNTOLD, ...(cell as CellView) }))],
    verdicts: [...told.verdicts, ...dataOf(events, 'verdict').map((verdict) => verdict as LiveVerdict)],
    recent: [...live.recent, ...events].slice(-RECENT),
  };
}

/** What only the finished run's cells say. */
const UNTOLD = { same_as: null, exit_code: null };

function dataOf(events: readonly RunEvent[], type: string): readonly unknown[] {
  return events.filter((event) => event.type === type).map(({ data }) => data);
}

/** The service wrote these events; their shapes are `src/pipeline`'s. */
function changeBy({ type, data }: RunEvent, live: Live, tries: Map<string, LiveTry>): Partial<Live> {
  if (type === 'status') {
    const { status } = data as { status: NonNullable<Live['status']> };
    // A run that is taken up again tells everything again.
    return status === 'running' && live.status !== null
      ? { ...NOTHING_YET, status }
      : { status, ended: ENDED.includes(status) };
  }
  if (type === 'admission') return { admissions: data as unknown as Live['admissions'] };
  if (type === 'step') {
    const { candidate_id: id, step, tool } = data as { candidate_id: string; step: number; tool: string | null };
    tries.set(id, { steps: step, tool: tool ?? '', ended: null });
  } else if (type === 'rollout') {
    const { candidate_id: id, exit_reason, steps, patch_lines, tokens } = data as unknown as RolledOut;
    tries.set(id, { steps, tool: '', ended: { reason: exit_reason, patchLines: patch_lines, tokens } });
  }
  return {};
}

interface RolledOut {
  readonly candidate_id: string;
  readonly exit_reason: string;
  readonly steps: number;
  readonly patch_lines: number;
  readonly tokens: number;
}

/** The evidence as far as it is told: tries that are sampled stand there as candidates without a patch. */
export function liveRows(evidence: EvidenceView, live: Live): EvidenceView {
  const { cells, admissions, tries, verdicts } = live;
  const known = new Set(evidence.candidates.map(({ candidate_id }) => candidate_id));
  const sampled = [...tries.entries()].flatMap(([candidate_id, { steps, ended }]) =>
    known.has(candidate_id) ? [] : [{ ...BLANK, candidate_id, steps, exit_reason: ended?.reason ?? null }],
  );
  const candidates = [...evidence.candidates, ...sampled].map((candidate) => ({
    ...candidate,
    verdicts: verdicts.filter(({ candidate_id }) => candidate_id === candidate.candidate_id),
  }));
  return { ...evidence, candidates, cells: [...cells], admissions };
}

const BLANK = {
  rank: null,
  scores: {},
  p_right: null,
  log_odds: {},
  flags: [],
  model: null,
  tokens: null,
  seconds: null,
  patch: { characters: 0, problem: null, files: [] },
};

/** How often at most the page changes, however many events come. */
const FRAME_MS = 100;

/** What is known of a run that is worked on, as it comes in; null follows nothing. */
export function useLive(id: string | null): Live {
  const [live, setLive] = useState(NOTHING_YET);
  useEffect(() => {
    if (id === null) return undefined;
    setLive(NOTHING_YET);
    const gone = new AbortController();
    let waiting: RunEvent[] = [];
    const frame = setInterval(() => {
      if (waiting.length === 0) return;
      const events = waiting;
      waiting = [];
      setLive((was) => withEvents(was, events));
    }, FRAME_MS);
    void follow(runPath(id, 'events'), (event) => waiting.push(event), gone.signal).catch(() => undefined);
    return () => {
      clearInterval(frame);
      gone.abort();
    };
  }, [id]);
  return live;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * Server-sent events by fetch, which can carry a key where EventSource cannot. Goes on behind the last event when the
 * connection breaks; ends when the run has ended, or with `signal`.
 * @throws ApiProblem when the service refuses
 */
export async function follow(path: string, onEvent: (event: RunEvent) => void, signal: AbortSignal): Promise<void> {
  let last = 0;
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      const response = await request(path, { signal, headers: { 'Last-Event-ID': String(last) } });
      if (response.status === 204 || response.body === null) return;
      for await (const event of eventsOf(response.body)) {
        last = event.seq;
        wait = FIRST_WAIT_MS;
        onEvent(event);
      }
    } catch (error) {
      if (error instanceof ApiProblem && error.status >= 400 && error.status < 500) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(2 * wait, LONGEST_WAIT_MS);
  }
}

async function* eventsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<RunEvent, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = `${text}${value}`.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) yield JSON.parse(data.slice('data: '.length)) as RunEvent;
    }
  }
}
