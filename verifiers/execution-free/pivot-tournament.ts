/** Wins of one candidate over those it was compared with. */
export interface Standing {
  readonly id: string;
  /** Mean probability to be the better one, 0..1; null when no comparison could be read. */
  readonly share: number | null;
  readonly comparisons: number;
}

/** P(a is better than b), 0..1, or null when it could not be told. */
export type Compare = (a: string, b: string) => Promise<number | null>;

/**
 * The probabilistic pivot tournament (LLM-as-a-Verifier, arXiv 2607.05391): each candidate against its neighbour in a ring,
 * then each against the `pivots` that lead: at most N + k(N − k) + k(k − 1)/2 comparisons instead of N(N − 1)/2, no pair
 * twice. Ours is the end: the two in the lead meet until they have met, at most N more, for two that were never beaten may
 * never have been compared; so that a judge without error finds the best.
 * @param ids in an order that says nothing about them; it decides between equals
 * @returns standings, best first
 */
export async function pivotTournament(ids: readonly string[], pivots: number, compare: Compare): Promise<Standing[]> {
  const table = new Table(ids);
  await table.play(
    ids.map((id, index) => [id, ids[(index + 1) % ids.length] ?? id] as const),
    compare,
  );
  const leaders = table
    .standings()
    .slice(0, pivots)
    .map(({ id }) => id);
  await table.play(
    leaders.flatMap((pivot) => ids.map((id) => [id, pivot] as const)),
    compare,
  );
  for (let round = 0; round < ids.length; round += 1) {
    const [first, second] = table.standings();
    if (first === undefined || second === undefined || table.haveMet(first.id, second.id)) break;
    await table.play([[first.id, second.id]], compare);
  }
  return table.standings();
}

class Table {
  private readonly wins = new Map<string, number[]>();
  private readonly played = new Set<string>();

  constructor(private readonly ids: readonly string[]) {
    for (const id of ids) this.wins.set(id, []);
  }

  async play(pairs: readonly (readonly [string, string])[], compare: Compare): Promise<void> {
    const fresh = pairs.filter(([a, b]) => {
      if (a === b || this.haveMet(a, b)) return false;
      this.played.add(pairOf(a, b));
      return true;
    });
    const results = await Promise.all(fresh.map(async ([a, b]) => ({ a, b, p: await compare(a, b) })));
    for (const { a, b, p } of results) {
      if (p === null) continue;
      this.wins.get(a)?.push(p);
      this.wins.get(b)?.push(1 - p);
    }
  }

  haveMet(a: string, b: string): boolean {
    return this.played.has(pairOf(a, b));
  }

  /** Those without a readable comparison come last; equals stay in the given order. */
  standings(): Standing[] {
    const rows = this.ids.map((id) => {
      const wins = this.wins.get(id) ?? [];
      const share = wins.length === 0 ? null : wins.reduce((sum, p) => sum + p, 0) / wins.length;
      return { id, share, comparisons: wins.length };
    });
    return rows.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  }
}

function pairOf(a: string, b: string): string {
  return JSON.stringify(a < b ? [a, b] : [b, a]);
}
