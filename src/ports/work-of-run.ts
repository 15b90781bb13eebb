import { z } from 'zod';
import { type RunEvent, STATUS_EVENT, type WorkerShare } from './run-store.js';
import { UnitKind } from './unit-store.js';

/** Types of the events that `workOf` goes by. */
export const WORK_EVENTS = ['unit', STATUS_EVENT];

const UnitData = z.object({ kind: UnitKind, worker: z.string(), seconds: z.number() });

/** Who did what of a run, by name. A run that is taken up again tells everything again, so that only its last part counts. */
export function workOf(events: readonly RunEvent[]): WorkerShare[] {
  const last = events.findLastIndex(({ type, data }) => type === STATUS_EVENT && isRunning(data));
  const shares = new Map<string, WorkerShare>();
  for (const { type, data } of events.slice(last + 1)) {
    const unit = type === 'unit' ? UnitData.safeParse(data).data : undefined;
    if (unit === undefined) continue;
    const { worker, kind } = unit;
    const share = shares.get(worker) ?? { worker, rollout: 0, verdict: 0, cells: 0, seconds: 0 };
    const seconds = Math.round((share.seconds + unit.seconds) * 1000) / 1000;
    shares.set(worker, { ...share, [kind]: share[kind] + 1, seconds });
  }
  return [...shares.values()].sort((a, b) => (a.worker < b.worker ? -1 : 1));
}

function isRunning(data: RunEvent['data']): boolean {
  return (data as { status?: unknown } | null)?.status === 'running';
}
