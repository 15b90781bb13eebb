import { useEffect, useState } from 'preact/hooks';
import type { CellView, EvidenceView } from '../../http/runs/evidence-view.js';
import type { RunEvent } from '../../ports/run-store.js';
import { ApiProblem, request, runPath } from '../api.js';

export interface LiveStep {
  readonly step: number;
  readonly at: string;
  readonly tool: string | null;
  readonly gist?: string;
  readonly exit_code?: number | null;
  readonly llm_s?: number;
  readonly env_s?: number;
}

/** The state of a rollout. */
export interface LiveTry {
  readonly steps: number;
  /** The last steps, newest last. */
  readonly log: readonly LiveStep[];
  /** Null while it is running. */
  readonly ended: { readonly reason: string; readonly patchLines: number; readonly tokens: number } | null;
}

type LiveVerdict = EvidenceView['candidates'][number]['verdicts'][number];

/** Calls of one model for one purpose. */
export interface LiveCalls {
  readonly purpose: string;
  readonly model: string;
  readonly calls: number;
  /** Start of the oldest of them. */
  readonly since: string;
}

/** The state of a run, derived from its journal. */
export interface Live {
  readonly status: EvidenceView['run']['status'] | null;
  readonly ended: boolean;
  readonly events: number;
  readonly tries: ReadonlyMap<string, LiveTry>;
  readonly calls: readonly LiveCalls[];
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
  calls: [],
  cells: [],
  admissions: [],
  verdicts: [],
  recent: [],
};

const RECENT = 30;
const LOGGED = 200;
export const ENDED: readonly string[] = ['done', 'failed', 'cancelled'];

/** What events add to. */
interface Grown {
  readonly tries: Map<string, LiveTry>;
  readonly cells: CellView[];
  readonly verdicts: LiveVerdict[];
}

export function withEvents(live: Live, events: readonly RunEvent[]): Live {
  const grown: Grown = { tries: new Map(live.tries), cells: [...live.cells], verdicts: [...live.verdicts] };
  const told = events.reduce<Live>((known, event) => ({ ...known, ...changeBy(event, known, grown) }), live);
  return {
    ...told,
    ...grown,
    events: live.events + events.length,
    recent: [...live.recent, ...events].slice(-RECENT),
  };
}

/** Fields that only a finished run's cells have. */
const UNTOLD = { same_as: null, exit_code: null };

/** Events are written by the service; `src/runs` defines their shapes. */
function changeBy({ type, data, at }: RunEvent, live: Live, { tries, cells, verdicts }: Grown): Partial<Live> {
  if (type === 'status') {
    const { status } = data as { status: NonNullable<Live['status']> };
    if (status !== 'running' || live.status === null) return { status, ended: ENDED.includes(status) };
    // A resumed run emits its outcomes again.
    cells.length = verdicts.length = 0;
    return { ...NOTHING_YET, status };
  }
  if (type === 'admission') return { admissions: data as unknown as Live['admissions'] };
  if (type === 'calls') return { calls: (data as unknown as { under_way: readonly LiveCalls[] }).under_way };
  if (type === 'cell') cells.push({ ...UNTOLD, ...(data as unknown as CellView) });
  if (type === 'verdict') verdicts.push(data as unknown as LiveVerdict);
  if (type === 'step') stepped(data as unknown as LiveStep & Named, at, tries);
  if (type === 'rollout') rolledOut(data as unknown as RolledOut, tries);
  return {};
}

function stepped({ candidate_id: id, ...step }: LiveStep & Named, at: string, tries: Map<string, LiveTry>): void {
  const log = [...(tries.get(id)?.log ?? []), { ...step, at }].slice(-LOGGED);
  tries.set(id, { steps: step.step, log, ended: null });
}

function rolledOut(data: RolledOut, tries: Map<string, LiveTry>): void {
  const { candidate_id: id, exit_reason: reason, steps, patch_lines: patchLines, tokens } = data;
  tries.set(id, { steps, log: tries.get(id)?.log ?? [], ended: { reason, patchLines, tokens } });
}

interface Named {
  readonly candidate_id: string;
}

interface RolledOut extends Named {
  readonly exit_reason: string;
  readonly steps: number;
  readonly patch_lines: number;
  readonly tokens: number;
}

/** The evidence so far: rollouts being sampled appear as candidates without a patch. */
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
  patch: { characters: 0, sha256: null, problem: null, files: [] },
};

/** Minimum time between updates of the page, however many events arrive. */
const FRAME_MS = 100;

/** The live state of a run in progress; null follows nothing. */
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
 * Reads server-sent events with fetch, which can send a key, unlike EventSource. Resumes after the last event if the
 * connection breaks; ends when the run has ended, or with `signal`.
 * @throws ApiProblem if the service refuses
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
