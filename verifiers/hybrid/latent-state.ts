/** Existing tests mostly hold on what is right; a right change may still break one on purpose. */
const TRUSTED_RIGHT = [9, 1] as const;
const TRUSTED_WRONG = [2, 1] as const;
/** Of the share of right candidates nothing is known. */
const SHARE_OF_RIGHT = [1, 1] as const;
const KINDS = 3;

type Counts = { -readonly [Key in keyof Split]: number };

/** An assignment of the candidates to right and wrong, its weight, and what has been gathered over many of them. */
export class LatentState {
  private readonly right: number[];
  private readonly splits: Counts[];
  private readonly kinds: TestKinds;
  private readonly trusted: { readonly right: BetaTable; readonly wrong: BetaTable };
  private readonly share: BetaTable;
  private readonly logFactorial: Float64Array;
  private readonly logs = new Float64Array(KINDS);
  /** Weights are kept relative to the largest so far. */
  private largest = -Infinity;
  private total = 0;
  private readonly rightSum: Float64Array;
  private readonly kindSums: Float64Array;

  /** Begins with everybody wrong. */
  constructor(
    private readonly groups: readonly Group[],
    private readonly columns: readonly TestColumn[],
    private readonly candidates: number,
  ) {
    this.right = groups.map(() => 0);
    this.kinds = new TestKinds(candidates);
    this.trusted = { right: new BetaTable(TRUSTED_RIGHT, candidates), wrong: new BetaTable(TRUSTED_WRONG, candidates) };
    this.share = new BetaTable(SHARE_OF_RIGHT, candidates);
    this.logFactorial = new Float64Array(candidates + 1);
    for (let n = 1; n <= candidates; n += 1) this.logFactorial[n] = (this.logFactorial[n - 1] ?? 0) + Math.log(n);
    this.splits = columns.map(({ outcomes }) => ({
      rightPassed: 0,
      rightFailed: 0,
      wrongPassed: outcomes.filter((outcome) => outcome === true).length,
      wrongFailed: outcomes.filter((outcome) => outcome === false).length,
    }));
    this.rightSum = new Float64Array(groups.length);
    this.kindSums = new Float64Array(columns.length * KINDS);
  }

  /** Takes `by` more candidates of a group for right. */
  shift(group: number, by: number): void {
    this.right[group] = (this.right[group] ?? 0) + by;
    for (const [test, outcome] of (this.groups[group]?.row ?? []).entries()) {
      const split = this.splits[test];
      if (outcome === null || split === undefined) continue;
      const [onRight, onWrong] = outcome
        ? (['rightPassed', 'wrongPassed'] as const)
        : (['rightFailed', 'wrongFailed'] as const);
      split[onRight] += by;
      split[onWrong] -= by;
    }
  }

  /** Log of the probability of the assignment and the outcomes, up to a constant. */
  logWeight(): number {
    const ways = this.groups.reduce(
      (sum, { members }, group) => sum + this.logChoose(members.length, this.right[group] ?? 0),
      0,
    );
    return ways + this.logOutcomes();
  }

  /** Draws anew whether one candidate of the group is right. */
  move(group: number, random: () => number): void {
    const size = this.groups[group]?.members.length ?? 0;
    const wasRight = random() * size < (this.right[group] ?? 0);
    const before = this.logOutcomes();
    this.shift(group, wasRight ? -1 : 1);
    const after = this.logOutcomes();
    const stays = 1 / (1 + Math.exp(after - before));
    if (random() < stays) this.shift(group, wasRight ? 1 : -1);
  }

  /** Gathers the assignment as it stands. */
  take(logWeight: number): void {
    if (logWeight > this.largest) {
      const scale = Math.exp(this.largest - logWeight);
      this.total *= scale;
      for (const sums of [this.rightSum, this.kindSums])
        for (let n = 0; n < sums.length; n += 1) sums[n] = (sums[n] ?? 0) * scale;
      this.largest = logWeight;
    }
    const weight = Math.exp(logWeight - this.largest);
    this.total += weight;
    for (let group = 0; group < this.right.length; group += 1) {
      this.rightSum[group] = (this.rightSum[group] ?? 0) + weight * (this.right[group] ?? 0);
    }
    for (let test = 0; test < this.columns.length; test += 1) this.takeKinds(test, weight);
  }

  posterior(): Posterior {
    const right = new Array<number>(this.candidates).fill(0);
    for (const [group, { members }] of this.groups.entries()) {
      const share = (this.rightSum[group] ?? 0) / this.total / members.length;
      for (const member of members) right[member] = share;
    }
    const kinds = this.columns.map((_, test) => {
      const of = (kind: number): number => (this.kindSums[test * KINDS + kind] ?? 0) / this.total;
      return [of(0), of(1), of(2)] as const;
    });
    return { right, kinds };
  }

  private logOutcomes(): number {
    const right = this.right.reduce((sum, count) => sum + count, 0);
    let log = this.share.log(right, this.candidates - right);
    for (let test = 0; test < this.columns.length; test += 1) log += this.logTest(test);
    return log;
  }

  /** Leaves the logs of the kinds in `logs`, unless the test is trusted. */
  private logTest(test: number): number {
    const split = this.splits[test];
    if (split === undefined) return 0;
    if (this.columns[test]?.trusted === true) {
      const { right, wrong } = this.trusted;
      return right.log(split.rightPassed, split.rightFailed) + wrong.log(split.wrongPassed, split.wrongFailed);
    }
    this.kinds.logs(split, this.logs);
    return logSum(this.logs);
  }

  private takeKinds(test: number, weight: number): void {
    const trusted = this.columns[test]?.trusted === true;
    const all = this.logTest(test);
    for (let kind = 0; kind < KINDS; kind += 1) {
      const share = trusted ? Number(kind === 0) : Math.exp((this.logs[kind] ?? 0) - all);
      const at = test * KINDS + kind;
      this.kindSums[at] = (this.kindSums[at] ?? 0) + weight * share;
    }
  }

  private logChoose(n: number, k: number): number {
    return (this.logFactorial[n] ?? 0) - (this.logFactorial[k] ?? 0) - (this.logFactorial[n - k] ?? 0);
  }
}

/** What the outcomes say when nothing is known of who is right and which tests are good. */
export interface Posterior {
  /** P(right) of each candidate, 0..1. */
  readonly right: readonly number[];
  /** P(kind) of each test: telling, indifferent, toxic. Each row adds up to 1. */
  readonly kinds: readonly (readonly [number, number, number])[];
}

/** The outcomes of one test. */
export interface TestColumn {
  /** By candidate: true = passed, false = did not, null = unknown. */
  readonly outcomes: readonly (boolean | null)[];
  /** An existing test suite of the repository: known to be worth something. */
  readonly trusted: boolean;
}

/** Candidates with the same outcomes; the model cannot tell them apart. */
export interface Group {
  /** Indices of candidates. */
  readonly members: readonly number[];
  readonly row: readonly (boolean | null)[];
}

export function groupsOf(columns: readonly TestColumn[], candidates: number): readonly Group[] {
  const groups = new Map<string, { members: number[]; row: (boolean | null)[] }>();
  for (let candidate = 0; candidate < candidates; candidate += 1) {
    const row = columns.map(({ outcomes }) => outcomes[candidate] ?? null);
    const key = row.map((outcome) => (outcome === null ? '-' : Number(outcome))).join('');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { members: [candidate], row });
    else group.members.push(candidate);
  }
  return [...groups.values()];
}

/** What a generated test may be worth. `toxic`: it passes wrong candidates rather than right ones. */
type TestKind = 'telling' | 'indifferent' | 'toxic';

/** How one test's outcomes fall on candidates taken for right and for wrong. */
export interface Split {
  readonly rightPassed: number;
  readonly rightFailed: number;
  readonly wrongPassed: number;
  readonly wrongFailed: number;
}

/** Pass rates on right and on wrong candidates, each Beta(a, b) before anything is seen. */
interface RatePriors {
  readonly right: readonly [number, number];
  readonly wrong: readonly [number, number];
}

/** A telling test nearly always passes what is right, and lets some of what is wrong through; a toxic one the reverse. */
const TELLING: RatePriors = { right: [9, 1], wrong: [1, 2] };
const TOXIC: RatePriors = { right: [1, 6], wrong: [2, 1] };
/** An indifferent test passes or fails nearly everybody, whoever is right. */
const INDIFFERENT: readonly [number, number] = [0.5, 0.5];

/** Share of each kind before anything is seen; about one test in ten is toxic (R2E-Gym, arXiv 2504.07164, section 4). */
const SHARES: Readonly<Record<TestKind, number>> = { telling: 0.5, indifferent: 0.4, toxic: 0.1 };

/** Log of ∫ p^x (1−p)^y Beta(p; a, b) dp, for up to `most` outcomes. */
export class BetaTable {
  private readonly a: Float64Array;
  private readonly b: Float64Array;
  private readonly both: Float64Array;

  constructor([a, b]: readonly [number, number], most: number) {
    this.a = risingLogs(a, most);
    this.b = risingLogs(b, most);
    this.both = risingLogs(a + b, most);
  }

  log(x: number, y: number): number {
    return (this.a[x] ?? NaN) + (this.b[y] ?? NaN) - (this.both[x + y] ?? NaN);
  }
}

/** Log-likelihoods of a test's split under each kind, weighted by the kind's share; the rates are integrated out. */
export class TestKinds {
  private readonly tables: Readonly<Record<'telling' | 'toxic', { right: BetaTable; wrong: BetaTable }>>;
  private readonly indifferent: BetaTable;

  /** @param most candidates there can be */
  constructor(most: number) {
    const both = ({ right, wrong }: RatePriors): { right: BetaTable; wrong: BetaTable } => ({
      right: new BetaTable(right, most),
      wrong: new BetaTable(wrong, most),
    });
    this.tables = { telling: both(TELLING), toxic: both(TOXIC) };
    this.indifferent = new BetaTable(INDIFFERENT, most);
  }

  /** Writes one value a kind: telling, indifferent, toxic. */
  logs({ rightPassed, rightFailed, wrongPassed, wrongFailed }: Split, into: Float64Array): void {
    const { telling, toxic } = this.tables;
    into[0] =
      LOG_SHARES.telling + telling.right.log(rightPassed, rightFailed) + telling.wrong.log(wrongPassed, wrongFailed);
    into[1] = LOG_SHARES.indifferent + this.indifferent.log(rightPassed + wrongPassed, rightFailed + wrongFailed);
    into[2] = LOG_SHARES.toxic + toxic.right.log(rightPassed, rightFailed) + toxic.wrong.log(wrongPassed, wrongFailed);
  }
}

const LOG_SHARES = {
  telling: Math.log(SHARES.telling),
  indifferent: Math.log(SHARES.indifferent),
  toxic: Math.log(SHARES.toxic),
};

/** log(c), log(c (c+1)), …: entry k is the log of the k-fold rising product. */
function risingLogs(c: number, most: number): Float64Array {
  const logs = new Float64Array(most + 1);
  for (let k = 1; k <= most; k += 1) logs[k] = (logs[k - 1] ?? 0) + Math.log(c + k - 1);
  return logs;
}

/** log Σ exp. */
export function logSum(values: Float64Array): number {
  let most = -Infinity;
  for (const value of values) if (value > most) most = value;
  if (most === -Infinity) return most;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - most);
  return most + Math.log(sum);
}
