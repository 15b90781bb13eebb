import { type LoggerService } from '@nestjs/common';
import { BOUNDLESS, type HostResources } from '../ports/host-resources.js';

/** How runs are worked on; the class is the injection token. */
export class RunSettings {
  /** How often followers look for what was journalled. */
  readonly pollMs: number;
  /** How often whoever works on a run looks whether it is still to. */
  readonly watchMs: number;
  /** How often open runs are looked for that nobody has taken up. */
  readonly recoverMs: number;
  /** How long a shutdown lets work under way finish before it tells it to stop. */
  readonly drainMs: number;
  /** Names this process in the events of runs. */
  readonly process: string;
  /** Work is begun while there is room. */
  readonly room: HostResources;

  constructor(
    readonly logger: Pick<LoggerService, 'warn' | 'error'>,
    {
      pollMs = 200,
      watchMs = 2_000,
      recoverMs = 15_000,
      drainMs = 0,
      process = 'bestk',
      room = BOUNDLESS,
    }: Partial<Omit<RunSettings, 'logger'>> = {},
  ) {
    this.pollMs = pollMs;
    this.watchMs = watchMs;
    this.recoverMs = recoverMs;
    this.drainMs = drainMs;
    this.process = process;
    this.room = room;
  }
}
