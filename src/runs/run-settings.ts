import { type LoggerService } from '@nestjs/common';
import { BOUNDLESS, type HostResources } from '../ports/host-resources.js';
import { Departure } from '../jobs/departure.js';
import { RunBell } from '../jobs/run-bell.js';
import { Turns } from '../jobs/turns.js';

type RunTimes = Pick<RunSettings, 'leaseMs' | 'pollMs' | 'graceMs' | 'patienceMs' | 'process' | 'room' | 'drainMs'>;

/** How runs are worked on; the class is the injection token. */
export class RunSettings {
  /** How long a run stays a process's own after its last sign of life. */
  readonly leaseMs: number;
  /** How often followers look for what another process journalled. */
  readonly pollMs: number;
  /** How long work may go on after it was told to stop by a shutdown. */
  readonly graceMs: number;
  /** How long a run waits for its parts while the machine is low and nobody works on any of them. */
  readonly patienceMs: number;
  readonly logger: Pick<LoggerService, 'warn' | 'error'>;
  /** Names this process in leases and events, for people. */
  readonly process: string;

  /** Work is taken while there is room. */
  readonly room: HostResources;

  /** Rings for all that works on runs in this process. */
  readonly bell = new RunBell();

  /** Work takes turns with those who ask this process something. */
  readonly turns = new Turns();

  /** How long a shutdown lets work under way finish before it tells it to stop. */
  readonly drainMs: number;

  /** Of this process. */
  readonly departure: Departure;

  constructor(
    logger: Pick<LoggerService, 'warn' | 'error'>,
    {
      leaseMs = 15_000,
      pollMs = 500,
      graceMs = 10_000,
      drainMs = 0,
      patienceMs = 300_000,
      process = 'bestk',
      room = BOUNDLESS,
    }: Partial<RunTimes> = {},
  ) {
    this.logger = logger;
    this.process = process;
    this.patienceMs = patienceMs;
    this.room = room;
    this.leaseMs = leaseMs;
    this.pollMs = pollMs;
    this.graceMs = graceMs;
    this.drainMs = drainMs;
    this.departure = new Departure(drainMs);
  }

  /** The name under which a part of this process holds leases: no other ever has it. */
  newOwner(): string {
    return `${this.process}:${globalThis.crypto.randomUUID().slice(0, 8)}`;
  }

  /** Also how long a cancellation by another process may go unnoticed. */
  get heartbeatMs(): number {
    return Math.min(this.leaseMs / 3, 2_000);
  }
}
