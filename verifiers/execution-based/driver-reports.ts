import { z } from 'zod';

/** One line of the suite driver: how the process of test `i` ended. */
export const DriverReport = z.object({
  i: z.int().min(0),
  /** Exit status; negative: the signal that ended it. */
  status: z.int(),
  proof: z.string().nullable(),
  timed_out: z.boolean(),
  out_of_memory: z.boolean(),
  ms: z.number().min(0),
  log: z.string(),
});
export type DriverReport = z.infer<typeof DriverReport>;

const LONGEST_LINE = 64 * 1024;

/**
 * Reads the driver's lines as they come and hands on its reports, in the order of the tests. Whatever else stands on that
 * output, an over-long line or a report out of turn is nobody's report.
 */
export class DriverReports {
  /** How many reports were handed on. */
  count = 0;
  /** The last test that was reported exceeded its time, after which the driver stops by itself. */
  stopped = false;
  private readonly decoder = new TextDecoder();
  private rest = '';

  constructor(
    private readonly expected: number,
    private readonly onReport: (report: DriverReport) => void,
  ) {}

  push(piece: Uint8Array): void {
    const lines = (this.rest + this.decoder.decode(piece, { stream: true })).split('\n');
    this.rest = (lines.pop() ?? '').slice(0, LONGEST_LINE);
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    const report = parse(line);
    if (report?.i !== this.count || this.count >= this.expected) return;
    this.count += 1;
    this.stopped = report.timed_out;
    this.onReport(report);
  }
}

function parse(line: string): DriverReport | null {
  if (!line.startsWith('{') || line.length > LONGEST_LINE) return null;
  try {
    return DriverReport.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}
