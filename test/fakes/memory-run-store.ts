import { BadInputError, InterruptedError } from '../../src/core/errors/errors.js';
import { contentKey, RunIdSource } from '../../src/core/identifier.js';
import { briefOfRequest, briefOfResult, RunAnswer } from '../../src/core/run/run-result.js';
import {
  workOf,
  type Acceptance,
  type ClaimGuard,
  hasEnded,
  type OpenRun,
  RunStore,
  STATUS_EVENT,
  type Run,
  type RunCensus,
  type RunEvent,
  type RunGuard,
  type RunHead,
  type RunListing,
  type RunOverview,
  type RunPage,
  type RunStatus,
  type RunSummary,
} from '../../src/ports/run-store.js';

interface Entry {
  readonly key: string;
  readonly submitter: string;
  readonly alone: boolean;
  readonly benchmark: { readonly id: string; readonly arm: string } | undefined;
  setup: string;
  run: Run;
  readonly events: RunEvent[];
  owner: string | null;
}

/** Runs in memory, with the same promises as a database; nothing is shared with the caller. */
export class MemoryRunStore extends RunStore {
  private readonly entries = new Map<string, Entry>();
  private readonly ids = new RunIdSource();

  override async create(
    key: string,
    request: Run['request'],
    { submitter = '', setup = '', alone = false, benchmark }: Acceptance = {},
  ): Promise<{ run: Run; created: boolean }> {
    const held = [...this.entries.values()].find((entry) => entry.key === key);
    if (held !== undefined) {
      if (contentKey(held.run.request) === contentKey(request)) return copy({ run: held.run, created: false });
      throw new BadInputError('was used for another request.', { field: 'Idempotency-Key' });
    }
    const now = Date.now();
    const at = new Date(now).toISOString();
    const id = this.ids.next(now);
    const run: Run = { id, status: 'queued', created_at: at, updated_at: at, request, result: null, failure: null };
    const entry: Entry = { key, submitter, setup, alone, benchmark, run: copy(run), events: [], owner: null };
    this.entries.set(id, entry);
    this.journal(entry, STATUS_EVENT, { status: 'queued', failure: null });
    return copy({ run, created: true });
  }

  override async get(id: string): Promise<Run | null> {
    return copy(this.entries.get(id)?.run ?? null);
  }

  override async size(id: string): Promise<number | null> {
    const run = this.entries.get(id)?.run;
    if (run === undefined) return null;
    const documents = [run.request, ...(run.result === null ? [] : [run.result])];
    return documents.reduce<number>((bytes, each) => bytes + Buffer.byteLength(JSON.stringify(each)), 0);
  }

  override async overview(id: string): Promise<RunOverview | null> {
    const entry = this.entries.get(id);
    if (entry === undefined) return null;
    const { id: same, status, created_at, updated_at, failure, result } = entry.run;
    const by_type: Record<string, number> = {};
    for (const { type } of entry.events) by_type[type] = (by_type[type] ?? 0) + 1;
    const progress = {
      events: entry.events.length,
      by_type,
      workers: workOf(entry.events),
      last: entry.events.at(-1) ?? null,
    };
    const state = { id: same, status, created_at, updated_at, failure };
    return copy({ ...state, progress, answer: RunAnswer.safeParse(result).data ?? null });
  }

  override async statusOf(id: string): Promise<RunStatus | null> {
    return this.entries.get(id)?.run.status ?? null;
  }

  override async heads(ids: readonly string[]): Promise<ReadonlyMap<string, RunHead>> {
    const found = ids.flatMap((id) => this.entries.get(id) ?? []);
    return new Map(found.map(({ run, events }) => [run.id, { status: run.status, seq: events.length }]));
  }

  override async list(limit: number, before: string | null, listing: RunListing = {}): Promise<RunPage> {
    return pageOf(this.summaries(), limit, before, listing);
  }

  override async open(): Promise<readonly OpenRun[]> {
    const open = [...this.entries.values()].filter(({ run, alone }) => !hasEnded(run.status) && !alone);
    return open.map(({ run: { id }, submitter, setup }) => ({ id, submitter, setup }));
  }

  override async adopt(id: string, setup: string, from: string): Promise<boolean> {
    const entry = this.entries.get(id);
    if (entry?.setup !== from || hasEnded(entry.run.status)) return false;
    entry.setup = setup;
    return true;
  }

  override async siblings(id: string): Promise<number> {
    const own = this.entries.get(id)?.submitter;
    return [...this.entries.values()].filter(({ run, submitter }) => run.status === 'running' && submitter === own)
      .length;
  }

  override async census(): Promise<RunCensus> {
    const counts = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
    for (const { status } of this.summaries()) counts[status] += 1;
    const waiting = this.summaries().filter(({ status }) => status === 'queued');
    return { counts, oldestQueued: waiting.map(({ updated_at }) => updated_at).sort()[0] ?? null };
  }

  override async update(id: string, change: Partial<Run>, onlyIf: RunGuard = {}): Promise<boolean> {
    const entry = this.entries.get(id);
    if (entry === undefined || !holds(onlyIf, entry)) return false;
    const { status, failure } = change;
    const spent = spentAfter(entry.run, change);
    entry.run = { ...entry.run, updated_at: new Date().toISOString(), ...copy(change), spent };
    if (status === undefined) return true;
    if (status !== 'running') entry.owner = null;
    this.journal(entry, STATUS_EVENT, { status, failure: failure ?? null });
    return true;
  }

  override async claim(id: string, owner: string, { setup, unless }: ClaimGuard = {}): Promise<boolean | string> {
    const entry = this.entries.get(id);
    if (entry === undefined || hasEnded(entry.run.status)) return false;
    if (setup !== undefined && entry.setup !== setup) return false;
    if (entry.owner !== null && unless?.(entry.owner) === true) return entry.owner;
    entry.owner = owner;
    return this.update(id, { status: 'running' });
  }

  override async isHeld(id: string, owner: string): Promise<boolean> {
    return this.entries.get(id)?.owner === owner;
  }

  override async release(id: string, owner: string): Promise<void> {
    await this.update(id, { status: 'queued' }, { owner, statuses: ['running'] });
  }

  override async append(id: string, type: string, data: RunEvent['data'], by?: string): Promise<RunEvent> {
    const entry = this.entries.get(id);
    if (entry === undefined || hasEnded(entry.run.status) || (by !== undefined && by !== entry.owner))
      throw new InterruptedError(`The run "${id}" has ended.`);
    return copy(this.journal(entry, type, copy(data)));
  }

  override async events(id: string, afterSeq: number, limit?: number, type?: string): Promise<readonly RunEvent[]> {
    return copy(
      this.entries
        .get(id)
        ?.events.filter((event) => event.seq > afterSeq && event.type === (type ?? event.type))
        .slice(0, limit) ?? [],
    );
  }

  override async delete(id: string): Promise<void> {
    this.entries.delete(id);
  }

  private journal({ events }: Entry, type: string, data: RunEvent['data']): RunEvent {
    const event = { seq: events.length + 1, at: new Date().toISOString(), type, data };
    events.push(event);
    return event;
  }

  private summaries(): RunSummary[] {
    return [...this.entries.values()].map(({ benchmark, run: { request, result, spent, ...state } }) => ({
      ...state,
      ...briefOfRequest(request),
      ...briefOfResult(result),
      ...(spent === undefined ? {} : { tokens: spent.tokens, cost_usd: spent.usd }),
      benchmark: benchmark?.id ?? null,
      arm: benchmark?.arm ?? null,
    }));
  }
}

/** By the result if there is one; else the most of all attempts. */
function spentAfter({ spent: before }: Run, { result, spent = before }: Partial<Run>): Run['spent'] {
  if (result === undefined) return (spent?.tokens ?? -1) >= (before?.tokens ?? -1) ? spent : before;
  const { tokens, cost_usd: usd } = briefOfResult(result);
  return tokens === null ? undefined : { tokens, usd };
}

function pageOf(all: readonly RunSummary[], limit: number, before: string | null, listing: RunListing): RunPage {
  const { statuses, instance, tag, search, order = 'created', descending = true } = listing;
  const has = (text: string | null): boolean => (text ?? '').toLowerCase().includes((search ?? '').toLowerCase());
  const key = (run: RunSummary): readonly [string | number, string] => [
    { created: '', instance: run.instance_id ?? '', k: run.k ?? -1, cost: run.cost_usd ?? -1 }[order],
    run.id,
  ];
  const listed = all
    .filter(({ status }) => statuses?.includes(status) ?? true)
    .filter(({ tags }) => tag === undefined || tags.includes(tag))
    .filter(({ instance_id }) => instance === undefined || instance_id === instance)
    .filter(({ id, instance_id, candidate_id }) => [id, instance_id, candidate_id].some(has))
    .sort((a, b) => (isBefore(key(a), key(b)) === descending ? 1 : -1));
  const start = before === null ? 0 : listed.findIndex(({ id }) => id === before) + 1;
  const gone = before !== null && start === 0;
  const rest = gone ? listed.filter(({ id }) => id < before === descending) : listed.slice(start);
  const runs = rest.slice(0, limit);
  return { runs, next: rest.length > limit ? (runs.at(-1)?.id ?? null) : null };
}

function isBefore([a, x]: readonly [string | number, string], [b, y]: readonly [string | number, string]): boolean {
  return a === b ? x < y : a < b;
}

function holds({ statuses, owner }: RunGuard, entry: Entry): boolean {
  if (statuses !== undefined && !statuses.includes(entry.run.status)) return false;
  return owner === undefined || owner === entry.owner;
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
