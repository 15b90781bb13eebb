import { setMaxListeners } from 'node:events';
import { z } from 'zod';
import { InterruptedError } from '../core/errors/errors.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import { unitId, UnitStore, type UnitKind } from '../ports/unit-store.js';
import type { RunDependenciesFactory } from '../runs/run-dependencies.js';
import type { RunSettings } from '../runs/run-settings.js';
import { UnitFailedError } from './unit-error.js';
import { UnitDone, UnitFailure } from './unit-payloads.js';
import { UNITS, type UnitWorker } from './unit-worker.js';

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

export interface DeskTools {
  readonly units: UnitStore;
  readonly dependencies: Pick<RunDependenciesFactory, 'setupOf'>;
  readonly worker: UnitWorker;
  readonly settings: Pick<RunSettings, 'bell' | 'turns' | 'pollMs' | 'patienceMs' | 'room'>;
}

export interface Offer {
  readonly runId: string;
  readonly kind: UnitKind;
  readonly key: string;
  readonly payload: unknown;
}

export interface DoneBy extends UnitDone {
  readonly worker: string | null;
  readonly attempts: number;
}

/** Where the runs of this process put up units, and wait until they are done: here, or by another process. */
export class UnitDesk {
  private readonly waiting = new Map<string, Waiting>();
  private telemetry = false;
  /** When, by the clock of timers, somebody last worked on what is waited for, or there was room to. */
  private lastHope = 0;

  constructor(private readonly tools: DeskTools) {}

  /** @throws UnitFailedError, StoreUnavailableError, MachineLowError, and the signal's reason */
  async have({ payload, ...offer }: Offer, signal: AbortSignal): Promise<DoneBy> {
    const { units, dependencies, worker, settings } = this.tools;
    await settings.turns.next();
    signal.throwIfAborted();
    const setup = await dependencies.setupOf(offer.kind);
    const id = unitId(offer);
    worker.expected.expect(id, offer.runId);
    await units.offer({ ...offer, setup, payload: z.json().parse(payload) });
    worker.start();
    settings.bell.ring(UNITS);
    try {
      await this.end(id, signal);
    } catch (error) {
      worker.expected.forget(id);
      worker.stop(id);
      // Told to stop, or without its store, a run hands its units on; one that goes on without them takes them back.
      if (!(error instanceof InterruptedError || error instanceof StoreUnavailableError))
        await units.withdraw(id).catch(() => undefined);
      throw error;
    }
    worker.expected.forget(id);
    await settings.turns.next();
    return this.outcome(id);
  }

  private async outcome(id: string): Promise<DoneBy> {
    const ended = await this.tools.units.outcome(id);
    if (ended?.state === 'done') {
      const { owner: worker, attempts } = ended;
      return { ...UnitDone.parse(ended.outcome), worker, attempts };
    }
    if (ended === null) throw new InterruptedError('The unit was taken back.');
    const { error } = UnitFailure.parse(ended.outcome);
    throw error.code === 'internal' ? new Error(error.message) : new UnitFailedError(error);
  }

  private end(id: string, signal: AbortSignal): Promise<void> {
    // A run waits for all its units at once; Node would take the eleventh for a leak.
    setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        this.waiting.delete(id);
        signal.removeEventListener('abort', abort);
        done();
      };
      const abort = (): void => {
        settle(() => {
          reject(signal.reason as Error);
        });
      };
      signal.addEventListener('abort', abort, { once: true });
      this.waiting.set(id, {
        resolve: () => {
          settle(resolve);
        },
        reject: (reason) => {
          settle(() => {
            reject(reason);
          });
        },
      });
      if (signal.aborted) abort();
      else if (!this.telemetry) void this.watch();
    });
  }

  private async watch(): Promise<void> {
    this.telemetry = true;
    this.lastHope = performance.now();
    const { units, settings } = this.tools;
    while (this.waiting.size > 0) {
      using alarm = settings.bell.set(UNITS);
      try {
        const ended = await units.ended([...this.waiting.keys()]);
        for (const id of ended) this.waiting.get(id)?.resolve();
        await this.giveUpWithoutHope(ended.length > 0);
        if (ended.length === 0) await alarm.wait(settings.pollMs, NEVER);
      } catch (error) {
        this.rejectAll(error as Error);
      }
    }
    this.telemetry = false;
  }

  /** What this machine has no room for another may do; when none does for long, who waits is told why. */
  private async giveUpWithoutHope(hasEnded: boolean): Promise<void> {
    const { units, settings } = this.tools;
    const low = hasEnded ? null : await settings.room.shortage();
    if (low === null || (await units.areUnderWay([...this.waiting.keys()]))) this.lastHope = performance.now();
    else if (performance.now() - this.lastHope >= settings.patienceMs) this.rejectAll(low);
  }

  private rejectAll(reason: Error): void {
    for (const { reject } of [...this.waiting.values()]) reject(reason);
  }
}

const NEVER = new AbortController().signal;
