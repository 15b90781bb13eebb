import { z } from 'zod';
import { type Failure, ToldError } from '../errors/errors.js';
import { BudgetSpentError } from '../errors/unavailable.js';
import { optional } from '../identifier.js';

/** Limits of one run: agent, test writer and judges together; null = no limit. */
export const Budget = z.strictObject({
  /** Input and output tokens, including those of stored answers that were paid earlier. */
  tokens: optional(z.int().positive()),
  usd: optional(z.number().positive()),
  /** Wall seconds of one execution of the run. */
  seconds: optional(z.number().positive()),
});
export type Budget = z.infer<typeof Budget>;

/** US dollars per million tokens. */
export const Price = z.strictObject({
  input: z.number().min(0),
  /** Input served from the server's prefix cache; same as `input` when absent. */
  cached_input: z.number().min(0).optional(),
  output: z.number().min(0),
});
export type Price = z.infer<typeof Price>;

/** Prices by model name; `*` matches any other model. */
export const PriceTable = z.record(z.string(), Price);
export type PriceTable = z.infer<typeof PriceTable>;

/** An estimate: lower bound, most likely value, upper bound. */
export interface Range {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

export function rangeOf(low: number, likely: number = low, high: number = likely): Range {
  return { low, likely, high };
}

/** Combines ranges end by end. `work` must grow with each of its arguments, which are positive. */
export function eachEnd(work: (...values: number[]) => number, ...ranges: readonly Range[]): Range {
  const at = (end: keyof Range): number => work(...ranges.map((range) => range[end]));
  return { low: at('low'), likely: at('likely'), high: at('high') };
}

export function sumOf(ranges: readonly Range[]): Range {
  return ranges.reduce((a, b) => eachEnd((x, y) => x + y, a, b), rangeOf(0));
}

/** Tokens and US dollars. */
export interface Amount {
  readonly tokens: number;
  readonly usd: number;
}

/**
 * Spending of one part of a run, shared by all processes that work on the run. Every method may throw
 * StoreUnavailableError.
 */
export interface PartSpendings {
  /**
   * Begins or resumes the part. A process that had it before, dead or only cut off, has no room reserved any more, and gets none.
   * @returns what the part has spent so far
   */
  begin(): Promise<Amount>;
  /**
   * Reserves `room` for a call if everything the run has spent and reserved, this call included, stays within `most`;
   * null = no limit.
   * @returns null when reserved; otherwise what the run has spent so far
   * @throws InterruptedError if another process has begun the part meanwhile
   */
  take(room: Amount, most: Pick<Budget, keyof Amount>): Promise<Amount | null>;
  /** Releases the reservation and records what was spent. */
  settle(room: Amount, spent: Amount): Promise<void>;
}

export interface TokenCounts {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
}

/** @returns US dollars, or null when the table has no price for the model */
export function costOf(model: string, tokens: TokenCounts, prices: PriceTable): number | null {
  const price = priceOf(model, prices);
  if (price === null) return null;
  const fresh = tokens.input_tokens - tokens.cached_input_tokens;
  const input = fresh * price.input + tokens.cached_input_tokens * (price.cached_input ?? price.input);
  return (input + tokens.output_tokens * price.output) / 1e6;
}

export function priceOf(model: string, prices: PriceTable): Price | null {
  if (Object.hasOwn(prices, model)) return prices[model] ?? null;
  return Object.hasOwn(prices, '*') ? (prices['*'] ?? null) : null;
}

/** A reservation made before a call and settled after it, so that concurrent calls cannot overspend together. */
export interface Reservation {
  /** @param tokens the server's count; null = not reported, and the whole reservation counts as spent */
  settle(tokens: TokenCounts | null): Promise<void>;
  /** Nothing was spent; no effect after `settle`. */
  release(): Promise<void>;
}

export interface Spent {
  readonly tokens: number;
  /** Null once a model without a price has been called. */
  readonly usd: number | null;
}

const NOTHING: Amount = { tokens: 0, usd: 0 };

/** A run's own failure. */
export class RunFailedError extends ToldError {
  /** @param spent by the run; undefined = nothing, or unknown */
  constructor(
    failure: Failure,
    readonly spent: Spent | undefined,
  ) {
    super(failure);
  }
}

/** What the run that ended with this error had spent; undefined = nothing, or unknown. */
export function spentOn(error: unknown): Spent | undefined {
  return error instanceof RunFailedError ? error.spent : undefined;
}

/** Tells what the ledger has spent when this work fails. */
export async function spending<T>(
  ledger: Pick<BudgetLedger, 'spent'>,
  work: Promise<T>,
  told?: (spent: Spent) => void,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const spent = ledger.spent();
    if (spent.tokens > 0) told?.(spent);
    throw error;
  }
}

/**
 * Tokens and money of one part of a run. An answer counts whether it is paid now or was paid earlier and stored, so
 * that a resumed run does not get its budget twice: what the part spent before it was resumed is consumed first, as
 * credit.
 */
export class BudgetLedger {
  private tokens = 0;
  /** Of the calls whose price is known. */
  private usd = 0;
  private isPriced = true;
  private credit: Promise<{ tokens: number; usd: number }> | null = null;

  /**
   * @param agentShare fraction of the budget, 0..1, that the agent may use; the rest is for the judges and the test
   * writer
   * @param spendings spending shared by the run's processes; null = no limit applies
   */
  constructor(
    private readonly budget: Budget,
    private readonly prices: PriceTable,
    private readonly agentShare: number,
    private readonly spendings: PartSpendings | null,
  ) {}

  /**
   * @param atMost upper bound of the call's tokens
   * @throws BudgetSpentError when they do not fit
   */
  async reserve(purpose: string, model: string, atMost: TokenCounts): Promise<Reservation> {
    const taken = await this.take(purpose, this.amount(model, atMost));
    let open = true;
    const close = async (spent: TokenCounts | null): Promise<void> => {
      if (!open) return;
      open = false;
      if (spent !== null) this.count(model, spent);
      await this.settle(taken, spent === null ? NOTHING : this.amount(model, spent));
    };
    return { settle: (spent) => close(spent ?? atMost), release: () => close(null) };
  }

  /** Counts an answer that has already been paid for. */
  async charge(model: string, tokens: TokenCounts): Promise<void> {
    this.count(model, tokens);
    const amount = this.amount(model, tokens);
    await this.settle({ known: await this.fromCredit(amount), room: NOTHING }, amount);
  }

  /** Counts what else the finished part was paid for earlier: calls that need no repeating, as checks of a rollout. */
  async chargeRest(): Promise<void> {
    if (this.spendings === null) return;
    const credit = await this.openCredit(this.spendings);
    this.add(credit);
    credit.tokens = credit.usd = 0;
  }

  /** Adds what another process spent on a part of its own. */
  add({ tokens, usd }: Spent): void {
    this.tokens += tokens;
    this.usd += usd ?? 0;
    this.isPriced &&= usd !== null;
  }

  /** Spent by this part and the added ones. */
  spent(): Spent {
    return { tokens: this.tokens, usd: this.isPriced ? this.usd : null };
  }

  worth(model: string, tokens: TokenCounts): Spent {
    return { tokens: tokens.input_tokens + tokens.output_tokens, usd: costOf(model, tokens, this.prices) };
  }

  /**
   * Whether the agent's share of the budget has room for this amount beside what has been counted here: a resumed run then
   * decides as it did before, whatever it had spent when it was interrupted. Calls without a price cost nothing.
   */
  covers({ tokens, usd }: Spent): boolean {
    const most = this.most(this.agentShare);
    if (most.tokens !== null && this.tokens + tokens > most.tokens) return false;
    return most.usd === null || this.usd + (usd ?? 0) <= most.usd;
  }

  private async take(purpose: string, amount: Amount): Promise<Taken> {
    const known = await this.fromCredit(amount);
    const room = { tokens: amount.tokens - known.tokens, usd: amount.usd - known.usd };
    const most = this.most(purpose === 'agent' ? this.agentShare : 1);
    const used = await this.spendings?.take(room, most);
    if (used === undefined || used === null) return { known, room };
    await this.settle({ known, room: NOTHING }, NOTHING);
    const isTokens = most.tokens !== null && used.tokens + amount.tokens > most.tokens;
    throw new BudgetSpentError(
      isTokens || this.budget.usd === null
        ? `${used.tokens} of ${this.budget.tokens} tokens are used, and the next call may take ${amount.tokens}`
        : `${used.usd.toFixed(4)} of ${this.budget.usd} USD are used, and the next call may cost ${amount.usd.toFixed(4)}`,
    );
  }

  private async settle({ known, room }: Taken, spent: Amount): Promise<void> {
    const { spendings } = this;
    if (spendings === null) return;
    const credit = await this.openCredit(spendings);
    credit.tokens += Math.max(0, known.tokens - spent.tokens);
    credit.usd += Math.max(0, known.usd - spent.usd);
    const rest = { tokens: Math.max(0, spent.tokens - known.tokens), usd: Math.max(0, spent.usd - known.usd) };
    if (room.tokens + room.usd + rest.tokens + rest.usd > 0) await spendings.settle(room, rest);
  }

  /** Takes from the part's credit as much as covers `amount`. */
  private async fromCredit(amount: Amount): Promise<Amount> {
    if (this.spendings === null) return NOTHING;
    const credit = await this.openCredit(this.spendings);
    const known = { tokens: Math.min(credit.tokens, amount.tokens), usd: Math.min(credit.usd, amount.usd) };
    credit.tokens -= known.tokens;
    credit.usd -= known.usd;
    return known;
  }

  private openCredit(spendings: PartSpendings): Promise<{ tokens: number; usd: number }> {
    this.credit ??= spendings.begin().then((before) => ({ ...before }));
    return this.credit;
  }

  private count(model: string, tokens: TokenCounts): void {
    this.add(this.worth(model, tokens));
  }

  private amount(model: string, tokens: TokenCounts): Amount {
    const worth = this.worth(model, tokens);
    return { tokens: worth.tokens, usd: worth.usd ?? 0 };
  }

  private most(share: number): Pick<Budget, keyof Amount> {
    const { tokens, usd } = this.budget;
    return { tokens: tokens === null ? null : tokens * share, usd: usd === null ? null : usd * share };
  }
}

/** Room for a call: `known` comes from the credit, `room` is newly reserved. */
interface Taken {
  readonly known: Amount;
  readonly room: Amount;
}
