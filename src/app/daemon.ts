import { hostname } from 'node:os';
import { stopWithin, untilTold } from '../commands/stopping.js';
import { loadConfig } from './config.js';
import type { LoggedAudit } from '../http/ops/audit.js';
import type { ServeOptions } from '../http/serve.js';
import { createLogger, nestLogger } from './logger.js';

/** Requests a second of one API key, or of one address without; twice that at once. */
const RATE_LIMIT = 500;

/** A process that goes on until it is told to stop, and tells of itself in the log. */
export class Daemon {
  /** @throws BadInputError for a bad setting */
  readonly config = loadConfig();
  private readonly logger = createLogger(this.config.logLevel, this.config.secrets);

  /** How it answers HTTP at an address. */
  listening(at: Pick<ServeOptions, 'host' | 'port'>): ServeOptions {
    const { apiKeys, secrets } = this.config;
    const audit: LoggedAudit = (entry) => {
      this.logger.info({ audit: entry }, 'audit');
    };
    return { ...at, apiKeys, rateLimit: RATE_LIMIT, secrets, logger: nestLogger(this.logger), audit };
  }

  /** Makes an embedded store this process's; one that many share is nobody's. @throws BadInputError that says who has it */
  async ownStore(): Promise<void> {
    const { store } = this.config;
    if (!('file' in store)) return;
    const { ownFile } = await import('../store/sqlite.js');
    ownFile(store.file, `process ${process.pid} on ${hostname()}, since ${new Date().toISOString()}`);
  }

  warn(message: string): void {
    this.logger.warn(message);
  }

  tell(facts: Readonly<Record<string, unknown>>, message: string): void {
    this.logger.info(facts, message);
  }

  /** Waits for SIGINT or SIGTERM, then closes within bounded time. */
  async untilTold(close: () => Promise<void>): Promise<void> {
    const { drainS, limitS } = this.config.stop;
    const signal = await untilTold();
    this.tell({ signal }, 'stopping');
    await stopWithin(drainS + limitS, close, (why) => {
      this.logger.error({ why }, 'exiting before everything had stopped');
    });
    this.tell({}, 'stopped');
  }
}
