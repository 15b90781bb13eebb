import { Injectable } from '@nestjs/common';
import { UnavailableError } from '../core/errors.js';
import { RunSettings } from './run-settings.js';
import { Meter } from '../ports/meter.js';
import { isLow, RESOURCES } from '../core/machine-low.js';
import { RunStatus, RunStore } from '../ports/run-store.js';

/** What is looked up when somebody asks for the metrics: runs of all processes in the store, and the room of this machine. */
@Injectable()
export class QueueGauges {
  private looking: Promise<void> | null = null;

  constructor(
    private readonly store: RunStore,
    private readonly meter: Meter,
    private readonly settings: RunSettings,
  ) {}

  /** A store that does not answer is told as such: the other metrics matter most then. */
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

/** @returns 0 when there is no such time; never less, whatever the clocks of two machines say */
export function ageInSeconds(since: string | null): number {
  return since === null ? 0 : Math.max(0, (Date.now() - Date.parse(since)) / 1000);
}
