import { isLow, Sandbox } from '../ports/sandbox.js';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { UnavailableError } from '../core/errors/errors.js';
import { EngineUnavailableError, ModelUnavailableError, RESOURCES } from '../core/errors/unavailable.js';
import { ModelProbe } from '../ports/llm-client.js';
import { Meter } from '../ports/telemetry.js';
import { RunStatus, RunStore } from '../ports/run-store.js';
import { RunService } from './run-service.js';
import { RunSettings } from './run-worker.js';

/** What can be missing while the service still answers. */
export const PARTS = ['engine', 'models', 'machine'] as const;
export type ReadyPart = (typeof PARTS)[number];

/** Public, so only a code and a next step are given; `bestk doctor` gives details. */
export const PartState = z.union([
  z.object({ ok: z.literal(true) }),
  z.object({ ok: z.literal(false), code: z.string(), next: z.string() }),
]);
export type PartState = z.infer<typeof PartState>;

export const ReadyReport = z.object({
  status: z
    .enum(['ready', 'degraded'])
    .describe('degraded: runs that need the missing part fail or wait; everything else works'),
  parts: z.object({
    engine: PartState,
    models: PartState,
    machine: PartState.describe('not ok: disk or memory is low and new work waits'),
  }),
  work: z.object({
    state: z
      .enum(['idle', 'working', 'saturated', 'stalled'])
      .describe(
        'saturated: all slots are busy and runs wait; stalled: runs wait and no process has taken one for a minute',
      ),
    queued: z.int().min(0),
    running: z.int().min(0),
    oldest_queued_s: z.int().min(0),
  }),
});
export type ReadyReport = z.infer<typeof ReadyReport>;

interface Seen {
  readonly missing: Readonly<Record<ReadyPart, UnavailableError | null>>;
  readonly work: ReadyReport['work'];
}

/** How long the report waits for an engine or model server. */
export const ANSWER_WITHIN_MS = 3_000;
/** Anyone may poll: results are cached for this long, and looked up once. */
const FRESH_MS = 2_000;
const STALLED_AFTER_S = 60;

/**
 * Distinguishes a dead service from a busy one: whether it accepts runs, what is unavailable around it, and what is queued.
 */
@Injectable()
export class Readiness {
  @Inject(RunSettings) private readonly settings!: RunSettings;
  private last: { readonly until: number; readonly seen: Promise<Seen> } | null = null;

  constructor(
    private readonly runs: RunService,
    private readonly store: RunStore,
    private readonly sandbox: Sandbox,
    private readonly models: ModelProbe,
  ) {}

  /**
   * @param required parts without which the service is not ready
   * @throws StoreUnavailableError, InterruptedError during shutdown, and the error of a missing required part
   */
  async report(required: readonly ReadyPart[]): Promise<ReadyReport> {
    await this.runs.checkReady();
    const { missing, work } = await this.seen();
    for (const part of required) if (missing[part] !== null) throw missing[part];
    const { engine, models, machine } = missing;
    const parts = { engine: stateOf(engine), models: stateOf(models), machine: stateOf(machine) };
    return { status: Object.values(parts).every(({ ok }) => ok) ? 'ready' : 'degraded', parts, work };
  }

  private seen(): Promise<Seen> {
    if (this.last === null || this.last.until < performance.now()) {
      this.last = { until: performance.now() + FRESH_MS, seen: this.look() };
    }
    return this.last.seen;
  }

  private async look(): Promise<Seen> {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const late = (error: UnavailableError): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(error);
        });
      });
    const [engine, models, machine, work] = await Promise.all([
      failureOf(Promise.race([this.sandbox.engineVersion(), late(new EngineUnavailableError('no answer in time'))])),
      failureOf(Promise.race([this.models.check(signal), late(new ModelUnavailableError('no answer in time'))])),
      this.settings.room.shortage(RESOURCES),
      this.work(),
    ]);
    return { missing: { engine, models, machine }, work };
  }

  private async work(): Promise<ReadyReport['work']> {
    const { counts, oldestQueued } = await this.store.census();
    const { queued, running } = counts;
    const oldest_queued_s = Math.round(ageInSeconds(oldestQueued));
    return { state: stateOfWork(queued, running, oldest_queued_s), queued, running, oldest_queued_s };
  }
}

async function failureOf(probe: Promise<unknown>): Promise<UnavailableError | null> {
  try {
    await probe;
    return null;
  } catch (error) {
    if (error instanceof UnavailableError) return error;
    throw error;
  }
}

function stateOf(missing: UnavailableError | null): PartState {
  return missing === null ? { ok: true } : { ok: false, code: missing.code, next: missing.next };
}

function stateOfWork(queued: number, running: number, oldest: number): ReadyReport['work']['state'] {
  if (queued > 0 && running === 0 && oldest > STALLED_AFTER_S) return 'stalled';
  if (queued > 0 && running > 0) return 'saturated';
  return queued + running > 0 ? 'working' : 'idle';
}

/** Gauges computed when metrics are requested: runs of all processes in the store, and free resources of this machine. */
@Injectable()
export class QueueGauges {
  private looking: Promise<void> | null = null;

  constructor(
    private readonly store: RunStore,
    private readonly meter: Meter,
    private readonly settings: RunSettings,
  ) {}

  /** If the store does not respond, that is reported as a metric: the others matter most in that case. */
  measure(): Promise<void> {
    this.looking ??= this.look().finally(() => {
      this.looking = null;
    });
    return this.looking;
  }

  private async look(): Promise<void> {
    await this.machine();
    try {
      const { counts, oldestQueued } = await this.store.census();
      for (const status of RunStatus.options) this.meter.set('bestk_runs', { status }, counts[status]);
      this.meter.set('bestk_queue_depth', {}, counts.queued);
      this.meter.set('bestk_queue_oldest_age_seconds', {}, ageInSeconds(oldestQueued));
      this.meter.set('bestk_store_up', {}, 1);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.meter.set('bestk_store_up', {}, 0);
    }
  }

  private async machine(): Promise<void> {
    const levels = await this.settings.room.levels();
    for (const { resource, freeBytes } of levels) this.meter.set('bestk_machine_free_bytes', { resource }, freeBytes);
    for (const resource of RESOURCES) {
      const low = levels.some((each) => each.resource === resource && isLow(each));
      this.meter.set('bestk_back_pressure', { resource }, low ? 1 : 0);
    }
  }
}

/** @returns 0 without a time; never negative, even if the clocks of two machines differ */
export function ageInSeconds(since: string | null): number {
  return since === null ? 0 : Math.max(0, (Date.now() - Date.parse(since)) / 1000);
}
