import { AsyncResource } from 'node:async_hooks';
import { RunQueue } from '../ports/run-queue.js';

type Work = () => Promise<void>;

/**
 * Works on at most `runsAtOnce` runs in this process, never on one run twice at a time. Those who submit take turns, and
 * of one submitter who came first is first; when all places are taken, one who has none gets a place all the same, as
 * long as there are no more than twice as many: other people's runs may take hours.
 */
export class InProcessRunQueue extends RunQueue {
  /** What waits, by submitter; the last one served is last. */
  private readonly waiting = new Map<string, Map<string, Work>>();
  private readonly working = new Map<string, { readonly submitter: string; readonly ended: Promise<void> }>();
  private readonly again = new Set<string>();
  private work: ((runId: string) => Promise<void>) | null = null;
  private closed = false;

  constructor(private readonly runsAtOnce: number) {
    super();
  }

  override onRun(work: (runId: string) => Promise<void>): void {
    this.work = work;
  }

  override submit(runId: string, submitter: string): void {
    if (this.closed) return;
    if (this.working.has(runId)) this.again.add(runId);
    else this.wait(runId, submitter);
    this.fill();
  }

  override async close(): Promise<void> {
    this.closed = true;
    this.waiting.clear();
    await Promise.all([...this.working.values()].map(({ ended }) => ended));
  }

  private wait(runId: string, submitter: string): void {
    const own = this.waiting.get(submitter) ?? new Map<string, Work>();
    // In the context of who asked, whoever's end makes room.
    if (!own.has(runId))
      own.set(
        runId,
        AsyncResource.bind(() => this.work?.(runId) ?? Promise.resolve()),
      );
    this.waiting.set(submitter, own);
  }

  private fill(): void {
    for (let submitter = this.next(); submitter !== null; submitter = this.next()) {
      const own = this.waiting.get(submitter) ?? new Map<string, Work>();
      const [first] = own;
      this.waiting.delete(submitter);
      if (first === undefined) continue;
      own.delete(first[0]);
      if (own.size > 0) this.waiting.set(submitter, own);
      this.begin(first[0], submitter, first[1]);
    }
  }

  private begin(runId: string, submitter: string, work: Work): void {
    const ended = work().then(() => {
      this.working.delete(runId);
      if (this.again.delete(runId)) this.submit(runId, submitter);
      this.fill();
    });
    this.working.set(runId, { submitter, ended });
  }

  /** Of those who may begin, who works on fewest here and was served longest ago. */
  private next(): string | null {
    const room = this.working.size < this.runsAtOnce;
    if (!room && this.working.size >= 2 * this.runsAtOnce) return null;
    const [chosen] = [...this.waiting.keys()]
      .map((submitter) => ({ submitter, busy: this.busy(submitter) }))
      .filter(({ busy }) => room || busy === 0)
      .sort((a, b) => a.busy - b.busy);
    return chosen?.submitter ?? null;
  }

  private busy(submitter: string): number {
    return [...this.working.values()].filter((each) => each.submitter === submitter).length;
  }
}
