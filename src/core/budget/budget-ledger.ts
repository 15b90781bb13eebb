import { costOf, type Budget, type PriceTable, type TokenCounts } from './budget.js';
import { BudgetSpentError } from '../errors/unavailable.js';

/** Room taken before a call and settled behind it, so that calls under way at once cannot overspend together. */
export interface Reservation {
  /** @param tokens what the server counted; null = it did not say, and the reserved room stays taken */
  settle(tokens: TokenCounts | null): void;
  /** Nothing was spent. */
  release(): void;
}

export interface Spent {
  readonly tokens: number;
  /** Null when a model without a price was called. */
  readonly usd: number | null;
}

/**
 * Tokens and money of one run, whoever spends them. What an answer cost counts whether it is paid now or was paid
 * earlier and stored, so that a run taken up again does not get its budget twice.
 */
export class BudgetLedger {
  private tokens = 0;
  private usd: number | null = 0;
  private reservedTokens = 0;
  private reservedUsd = 0;

  /** @param agentShare part of the budget, 0..1, that the agent may use; the rest is the judges' and the test writer's */
  constructor(
    private readonly budget: Budget,
    private readonly prices: PriceTable,
    private readonly agentShare: number,
  ) {}

  /**
   * @param atMost tokens that the call can come to
   * @throws BudgetSpentError when they do not fit
   */
  reserve(purpose: string, model: string, atMost: TokenCounts): Reservation {
    const tokens = atMost.input_tokens + atMost.output_tokens;
    const usd = costOf(model, atMost, this.prices) ?? 0;
    const share = purpose === 'agent' ? this.agentShare : 1;
    this.assertRoom(share, tokens, usd);
    this.reservedTokens += tokens;
    this.reservedUsd += usd;
    let open = true;
    const close = (spent: TokenCounts | null): void => {
      if (!open) return;
      open = false;
      this.reservedTokens -= tokens;
      this.reservedUsd -= usd;
      if (spent !== null) this.charge(model, spent);
    };
    return {
      settle: (spent) => {
        close(spent ?? atMost);
      },
      release: () => {
        close(null);
      },
    };
  }

  /** What was paid already. */
  charge(model: string, tokens: TokenCounts): void {
    this.tokens += tokens.input_tokens + tokens.output_tokens;
    const cost = costOf(model, tokens, this.prices);
    this.usd = this.usd === null || cost === null ? null : this.usd + cost;
  }

  /** What was spent elsewhere for the same run. */
  add({ tokens, usd }: Spent): void {
    this.tokens += tokens;
    this.usd = this.usd === null || usd === null ? null : this.usd + usd;
  }

  spent(): Spent {
    return { tokens: this.tokens, usd: this.usd };
  }

  worth(model: string, tokens: TokenCounts): Spent {
    return { tokens: tokens.input_tokens + tokens.output_tokens, usd: costOf(model, tokens, this.prices) };
  }

  /** Whether the agent may spend as much again as `spent` says. */
  covers({ tokens, usd }: Spent): boolean {
    const { budget, agentShare } = this;
    if (budget.tokens !== null && this.tokens + tokens > budget.tokens * agentShare) return false;
    return budget.usd === null || (this.usd ?? 0) + (usd ?? 0) <= budget.usd * agentShare;
  }

  private assertRoom(share: number, tokens: number, usd: number): void {
    const { budget } = this;
    const allTokens = this.tokens + this.reservedTokens + tokens;
    if (budget.tokens !== null && allTokens > budget.tokens * share) {
      throw new BudgetSpentError(
        `${this.tokens} of ${budget.tokens} tokens are used, and the next call may take ${tokens}`,
      );
    }
    const allUsd = (this.usd ?? 0) + this.reservedUsd + usd;
    if (budget.usd !== null && allUsd > budget.usd * share) {
      throw new BudgetSpentError(
        `${(this.usd ?? 0).toFixed(4)} of ${budget.usd} USD are used, and the next call may cost ${usd.toFixed(4)}`,
      );
    }
  }
}
