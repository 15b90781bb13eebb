import { type LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';
import { traceIds } from '../telemetry/otel-tracer.js';
import { currentRun } from '../core/async/concurrency.js';
import { hider } from '../core/secrets.js';

/**
 * Structured logs, one JSON object per line, on stderr, since stdout is for the commands' output. Lines logged during a run
 * carry its id, and the trace ids if one is recorded.
 * @param secrets hidden in every line
 */
export function createLogger(level: string, secrets: readonly string[] = []): Logger {
  const stderr = pino.destination({ dest: 2, sync: true });
  const hide = hider(secrets);
  return pino(
    {
      name: 'bestk',
      level,
      mixin: () => ({ run_id: currentRun(), ...traceIds() }),
      redact: ['apiKey', '*.apiKey', 'headers.authorization', 'headers["x-api-key"]'],
    },
    { write: (line) => stderr.write(hide(line)) },
  );
}

/** Sends Nest's own messages to the same logger. */
export function nestLogger(logger: Logger): LoggerService {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...details: unknown[]): void => {
      const [facts, ...rest] = details;
      const isRecord = rest.length === 0 && typeof facts === 'object' && facts !== null;
      logger[level](isRecord ? facts : { details }, String(message));
    };
  return {
    log: at('debug'),
    verbose: at('debug'),
    debug: at('debug'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}
