import { BestkError, InterruptedError, UnavailableError } from '../core/errors/errors.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import { RunStore } from '../ports/run-store.js';
import { UnitStore, type Unit, type UnitEnding, type UnitKind } from '../ports/unit-store.js';
import { atMost } from './departure.js';
import { ExpectedUnits, type InRun } from './expected-units.js';
import { RunHeartbeat } from './run-heartbeat.js';
import { RunSettings } from '../runs/run-settings.js';
import { NotHereError } from './unit-error.js';
import type { UnitPerformer } from './unit-performer.js';

/** What the bell rings when a unit was put up or ended in this process. */
export const UNITS = 'units';

const MOST_TRIES = 3;
const FIRST_PAUSE_MS = 1_000;
/** How long units of a run are left to others that have its image. */
const NOT_HERE_MS = 60_000;

export interface UnitWorkerTools {
  readonly units: UnitStore;
  readonly runs: RunStore;
  readonly performer: UnitPerformer;
  readonly settings: RunSettings;
  readonly inRun: InRun;
}

interface Active {
  readonly kind: UnitKind;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** Takes units of any run on the store, as many as there is room for, does them, and says how they ended. */
export class UnitWorker {
  readonly expected: ExpectedUnits;
  private readonly owner: string;
  private readonly active = new Map<string, Active>();
  private readonly passedOver = new Map<string, number>();
  private readonly closing = new AbortController();
  private looping: Promise<void> | null = null;

  constructor(private readonly tools: UnitWorkerTools) {
    this.owner = tools.settings.newOwner();
    this.expected = new ExpectedUnits(tools.inRun);
  }

  /** Begins to take units; again is harmless. */
  start(): void {
    if (!this.closing.signal.aborted) this.looping ??= this.loop();
  }

  /** Stops the work on a unit, if it is under way here. */
  stop(id: string): void {
    this.active.get(id)?.controller.abort(new InterruptedError());
  }

  /** Takes no unit of another's run any more, lets what is under way finish for a while, and hands the rest back. */
  async shutdown(): Promise<void> {
    const { bell, departure, graceMs } = this.tools.settings;
    departure.begin();
    await departure.waitFor(this.allDone());
    this.closing.abort();
    for (const id of this.active.keys()) this.stop(id);
    bell.ring(UNITS);
    await atMost(graceMs, Promise.all([this.looping, this.allDone()]));
  }

  private allDone(): Promise<unknown> {
    return Promise.all([...this.active.values()].map(({ done }) => done));
  }

  private async loop(): Promise<void> {
    const { settings } = this.tools;
    while (!this.closing.signal.aborted) {
      using alarm = settings.bell.set(UNITS);
      const unit = await this.next();
      if (unit === null) await alarm.wait(settings.pollMs, this.closing.signal);
      else this.begin(unit);
    }
  }

  private async next(): Promise<Unit | null> {
    const { units, performer, settings } = this.tools;
    await settings.turns.next();
    if (this.closing.signal.aborted) return null;
    try {
      const rooms = await performer.capacity();
      const setups = rooms.filter(({ kind, most }) => this.countOf(kind) < most).map(({ setup }) => setup);
      if (setups.length === 0) return null;
      const only = settings.departure.hasBegun ? this.expected.runs() : null;
      return await units.claim(this.owner, { setups, not: this.notNow(), only }, settings.leaseMs);
    } catch (error) {
      settings.logger.warn(`Taking a unit failed: ${String(error)}`);
      return null;
    }
  }

  private begin(unit: Unit): void {
    // Its lease ran out while it was under way here, and now it is held again.
    if (this.active.has(unit.id)) return;
    const controller = new AbortController();
    const done = this.expected
      .within(unit, () => this.work(unit, controller))
      .finally(() => {
        this.active.delete(unit.id);
        this.tools.settings.bell.ring(UNITS);
      });
    this.active.set(unit.id, { kind: unit.kind, controller, done });
    if (this.closing.signal.aborted) controller.abort(new InterruptedError());
  }

  /** Never rejects. */
  private async work(unit: Unit, controller: AbortController): Promise<void> {
    const { units, settings } = this.tools;
    const heartbeat = new RunHeartbeat(settings.heartbeatMs, () => this.extend(unit.id, controller));
    const ending = await this.perform(unit, controller.signal);
    await heartbeat.stop();
    await settings.turns.next();
    try {
      await units.settle(unit.id, this.owner, ending);
    } catch (error) {
      settings.logger.error(`Unit ${unit.id} is left to be taken up again: ${String(error)}`);
    }
  }

  private async perform(unit: Unit, signal: AbortSignal): Promise<UnitEnding> {
    const { runs, performer, settings } = this.tools;
    const start = performance.now();
    const emit = async (type: string, data: Parameters<RunStore['append']>[2]): Promise<void> => {
      await settings.turns.next();
      signal.throwIfAborted();
      await runs.append(unit.runId, type, data, this.owner);
      settings.bell.ring(unit.runId);
    };
    try {
      const done = await performer.perform(unit, emit, signal);
      const seconds = Math.round(performance.now() - start) / 1000;
      return { state: 'done', outcome: { ...done, seconds } };
    } catch (error) {
      return this.endingOf(unit, error, signal);
    }
  }

  private endingOf(unit: Unit, error: unknown, signal: AbortSignal): UnitEnding {
    const handedBack = { state: 'waiting', afterMs: 0, counts: false } as const;
    if (signal.aborted || error instanceof InterruptedError) return handedBack;
    if (error instanceof StoreUnavailableError && error.retryable) return { ...handedBack, afterMs: FIRST_PAUSE_MS };
    if (error instanceof NotHereError) {
      this.passOver(unit.runId, NOT_HERE_MS);
      return handedBack;
    }
    if (error instanceof UnavailableError && error.retryable && unit.attempts < MOST_TRIES) {
      const afterMs = FIRST_PAUSE_MS * 4 ** (unit.attempts - 1);
      // Another machine gets the first chance.
      this.passOver(unit.runId, afterMs + this.tools.settings.pollMs);
      return { state: 'waiting', afterMs, counts: true };
    }
    return { state: 'failed', outcome: { error: this.failureOf(unit, error) } };
  }

  private failureOf(unit: Unit, error: unknown): { code: string; message: string; next: string } {
    if (error instanceof BestkError) return { code: error.code, message: error.message, next: error.next };
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.tools.settings.logger.error(`Unit ${unit.id} of run ${unit.runId} failed on an internal error: ${reason}`);
    return { code: 'internal', message: `Unit ${unit.id} failed on an internal error.`, next: 'Look into the log.' };
  }

  private async extend(id: string, controller: AbortController): Promise<void> {
    if (controller.signal.aborted) return;
    try {
      const { units, settings } = this.tools;
      if (!(await units.extend(id, this.owner, settings.leaseMs))) controller.abort(new InterruptedError());
    } catch (error) {
      this.tools.settings.logger.warn(`The lease of unit ${id} could not be extended: ${String(error)}`);
    }
  }

  private countOf(kind: UnitKind): number {
    return [...this.active.values()].filter((each) => each.kind === kind).length;
  }

  private passOver(runId: string, ms: number): void {
    this.passedOver.set(runId, performance.now() + ms);
  }

  private notNow(): readonly string[] {
    for (const [runId, until] of this.passedOver) if (until <= performance.now()) this.passedOver.delete(runId);
    return [...this.passedOver.keys()];
  }
}
