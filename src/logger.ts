import { type LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';

/** Structured logs, one JSON object a line on stderr: stdout belongs to the commands' answers. */
export function createLogger(level: string): Logger {
  return pino(
    { name: 'bestk', level, redact: ['apiKey', '*.apiKey', 'headers.authorization', 'headers["x-api-key"]'] },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** Nest's own messages through the same logger. */
export function nestLogger(logger: Logger): LoggerService {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...details: unknown[]): void => {
      logger[level]({ details }, String(message));
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
