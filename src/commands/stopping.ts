import { EXIT } from '../core/errors/errors.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** What a shell says of a process that SIGTERM ended. */
const TERMINATED = 143;

/**
 * Ends the process at a signal that nobody else in it listens for, as while it starts. Otherwise the kernel does so, but
 * not for process 1 of a container, which would go on until it is killed.
 */
export function endWhenUnheard(): void {
  const codes = { SIGINT: EXIT.interrupted, SIGTERM: TERMINATED };
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(codes[signal]);
    });
  }
}

/** Goes on when nobody reads any more what is printed, as behind `| head`: the work is paid for, and its files are not printed. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

/** Resolves when somebody tells this process to stop, with the signal's name. */
export function untilTold(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, resolve);
  });
}

/**
 * Stops in an orderly way, or ends the process: after `limitS` with 1, since something hangs (an engine that does not
 * answer), and at once when told a second time. What was under way is taken up again when its lease has run out, and
 * containers that are left end by themselves and are removed by the next start.
 * @param late told before the process ends without having stopped
 */
export async function stopWithin(
  limitS: number,
  stop: () => Promise<void>,
  late: (why: string) => void,
): Promise<void> {
  const end = (code: number, why: string): never => {
    late(why);
    process.exit(code);
  };
  const again = (): never => end(EXIT.interrupted, 'told to stop a second time');
  for (const signal of SIGNALS) process.once(signal, again);
  const timer = setTimeout(() => end(1, `not stopped within ${limitS} s`), limitS * 1000);
  try {
    await stop();
  } finally {
    clearTimeout(timer);
    for (const signal of SIGNALS) process.off(signal, again);
  }
}
