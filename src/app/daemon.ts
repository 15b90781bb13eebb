import { hostname } from 'node:os';
import { stopWithin, untilTold } from '../commands/stopping.js';
import { loadConfig } from './config.js';
import type { LoggedAudit } from '../http/ops/audit.js';
import type { ServeOptions } from '../http/serve.js';
import { createLogger, nestLogger } from './logger.js';

/** Requests per second per API key, or per address without one; bursts of twice that. */
const RATE_LIMIT = 500;

/** A process that runs until it receives a signal, and logs its state. */
export class Daemon {
  /** @throws BadInputError for a bad setting */
  readonly config = loadConfig();
  private readonly logger = createLogger(this.config.logLevel, this.config.secrets);

  /** Makes every file of this process private: uploads hold patches and hidden tests. */
  constructor() {
    process.umask(0o077);
  }

  /** HTTP options for an address. */
  listening(at: Pick<ServeOptions, 'host' | 'port'>): ServeOptions {
    const { apiKeys, secrets } = this.config;
    const audit: LoggedAudit = (entry) => {
      this.logger.info({ audit: entry }, 'audit');
    };
    return { ...at, apiKeys, rateLimit: RATE_LIMIT, secrets, logger: nestLogger(this.logger), audit };
  }

  /** Locks an embedded store for this process; a shared store needs no lock. @throws BadInputError naming its owner */
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
