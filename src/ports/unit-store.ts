import { z } from 'zod';
import { contentKey } from '../core/fingerprint.js';

/** A rollout, a judge's verdict on one candidate, or the tests that one patch is run on. */
export const UnitKind = z.enum(['rollout', 'verdict', 'cells']);
export type UnitKind = z.infer<typeof UnitKind>;

export const UnitState = z.enum(['waiting', 'leased', 'done', 'failed']);
export type UnitState = z.infer<typeof UnitState>;

/** A part of a run's work that any process with the same settings can do. */
export interface UnitSpec {
  readonly runId: string;
  readonly kind: UnitKind;
  /** Names the work within the run: offering it again is the same unit. */
  readonly key: string;
  /** Hash of the settings it depends on; only a process that has the same takes it. */
  readonly setup: string;
  readonly payload: z.core.util.JSONType;
}

/** Of a run and what is to be done in it: always the same. */
export function unitId({ runId, kind, key }: Pick<UnitSpec, 'runId' | 'kind' | 'key'>): string {
  return contentKey([runId, kind, key]);
}

export interface Unit extends Omit<UnitSpec, 'key'> {
  readonly id: string;
  /** Times that it was given out, this one included. */
  readonly attempts: number;
}

export interface UnitEnd {
  readonly state: 'done' | 'failed';
  readonly outcome: unknown;
  /** Who did it, or tried last. */
  readonly owner: string | null;
  readonly attempts: number;
}

/** How a unit is left: ended, or to be done again by whoever comes. */
export type UnitEnding =
  | { readonly state: 'done' | 'failed'; readonly outcome: z.core.util.JSONType }
  /** `counts` is false when it was handed back for no fault of its own. */
  | { readonly state: 'waiting'; readonly afterMs: number; readonly counts: boolean };

export interface Wanted {
  readonly setups: readonly string[];
  /** Runs whose units this process cannot do. */
  readonly not: readonly string[];
  /** Runs whose units alone are wanted; null = any. */
  readonly only: readonly string[] | null;
}

/**
 * Units of work of runs, leased to one process at a time. Every method may throw StoreUnavailableError. Results that
 * are more than a word go to the ResultStore the moment they exist; a unit only says that they are there.
 */
export abstract class UnitStore {
  /** Puts a unit up; one that is there already stays as it is, except that one that failed waits again. */
  abstract offer(spec: UnitSpec): Promise<string>;
  /**
   * Takes a waiting unit, or one whose lease ran out, of a run that is running: of the submitter that was served longest
   * ago, and of the runs of one submitter likewise.
   * A unit that was given out several times, and whose holder was lost each time, fails.
   */
  abstract claim(owner: string, wanted: Wanted, leaseMs: number): Promise<Unit | null>;
  /** @returns false when it is no longer `owner`'s, or its run is over: the work is to stop */
  abstract extend(id: string, owner: string, leaseMs: number): Promise<boolean>;
  /** @returns false, and changes nothing, when it is no longer `owner`'s */
  abstract settle(id: string, owner: string, ending: UnitEnding): Promise<boolean>;
  /** Takes back what nobody waits for any more; a process at work on it is told when it extends its lease. */
  abstract withdraw(id: string): Promise<void>;
  /** Of `ids`, those that have ended or are gone. */
  abstract ended(ids: readonly string[]): Promise<readonly string[]>;
  /** Whether anybody works on any of `ids`. */
  abstract areUnderWay(ids: readonly string[]): Promise<boolean>;
  /** How it ended, and who did it; null while it has not, or is gone. */
  abstract outcome(id: string): Promise<UnitEnd | null>;
}
