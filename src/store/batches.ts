interface Call<Item, Done> {
  readonly item: Item;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

/** What one statement takes: as many as these, and no further one behind as many letters. */
const MOST = 100;
const MOST_LETTERS = 1_000_000;

/**
 * Has calls of one line that come while another is under way done together behind it: they would wait for each other, and for
 * the disk, one by one.
 */
export class Batches<Item, Done> {
  /** Who waits, by line; a line is there while something of it is under way. */
  private readonly lines = new Map<string, Call<Item, Done>[]>();

  /**
   * @param work all of them or none; what it resolves to has the order of `items`
   * @param lettersOf how large an item is
   */
  constructor(
    private readonly work: (items: readonly [Item, ...Item[]]) => Promise<readonly Done[]>,
    private readonly lettersOf: (item: Item) => number,
  ) {}

  /** @throws what `work` threw for all that were done together */
  do(line: string, item: Item): Promise<Done> {
    return new Promise((resolve, reject) => {
      const waiting = this.lines.get(line);
      const call = { item, resolve, reject };
      if (waiting !== undefined) waiting.push(call);
      else void this.go(line, [call]);
    });
  }

  private async go(line: string, waiting: Call<Item, Done>[]): Promise<void> {
    this.lines.set(line, waiting);
    for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) {
      const batch = [first, ...waiting.splice(0, this.fitting(first, waiting))] as const;
      const [head, ...others] = batch;
      try {
        const done = await this.work([head.item, ...others.map(({ item }) => item)]);
        for (const [nth, { resolve }] of batch.entries()) resolve(done[nth] as Done);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.lines.delete(line);
  }

  /** How many of those that wait go with the first. */
  private fitting(first: Call<Item, Done>, waiting: readonly Call<Item, Done>[]): number {
    let letters = this.lettersOf(first.item);
    const end = waiting.slice(0, MOST - 1).findIndex(({ item }) => (letters += this.lettersOf(item)) > MOST_LETTERS);
    return end === -1 ? MOST - 1 : end;
  }
}
