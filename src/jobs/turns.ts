/** How long a piece gives way, about, where somebody always asks: work must not starve. */
const GIVES_WAY_MS = 100;
/** An answer that takes longer is an upload or a stream, which may take hours. */
const LONGEST_ANSWER_MS = 1_000;

interface Waiting {
  readonly since: number;
  readonly go: () => void;
}

interface Asked {
  readonly since: number;
  readonly isAnswered: () => boolean;
}

/**
 * Who has the one thread of this process: whoever asks something comes first, and the work on runs goes on piece by piece,
 * one piece in a turn of the event loop. Work on an embedded store would otherwise not let go of it for many pieces. What
 * cannot give way for longer is spread evenly, and does not come all at once.
 */
export class Turns {
  private readonly waiting: Waiting[] = [];
  private readonly asked = new Set<Asked>();
  private cancel: () => void = () => undefined;
  private begunAt = 0;

  /** Somebody asks. @returns to be called when nobody waits for the answer any more; again is harmless */
  ask(isAnswered: () => boolean): () => void {
    const asked = { since: performance.now(), isAnswered };
    this.asked.add(asked);
    return () => {
      if (this.asked.delete(asked)) this.plan();
    };
  }

  /** Resolves when the next piece of work may begin. */
  next(): Promise<void> {
    return new Promise((go) => {
      this.waiting.push({ since: performance.now(), go });
      this.plan();
    });
  }

  private plan(): void {
    this.cancel();
    const [first] = this.waiting;
    if (first === undefined) return;
    const since = Math.max(this.begunAt, first.since);
    const left = this.isAsked() ? since + GIVES_WAY_MS / this.waiting.length - performance.now() : 0;
    this.cancel = left > 0 ? later(left, this.begin) : soon(this.begin);
  }

  private readonly begin = (): void => {
    this.begunAt = performance.now();
    this.waiting.shift()?.go();
    this.plan();
  };

  private isAsked(): boolean {
    const now = performance.now();
    for (const asked of this.asked) {
      if (asked.isAnswered() || now - asked.since > LONGEST_ANSWER_MS) this.asked.delete(asked);
    }
    return this.asked.size > 0;
  }
}

function later(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => {
    clearTimeout(timer);
  };
}

function soon(act: () => void): () => void {
  const turn = setImmediate(act);
  return () => {
    clearImmediate(turn);
  };
}
