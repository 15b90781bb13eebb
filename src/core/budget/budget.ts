import { z } from 'zod';

function limit(schema: z.ZodType<number, number>) {
  return schema.nullish().transform((value) => value ?? null);
}

/** What a run may take, agent, test writer and judges together; null = no limit. */
export const Budget = z.strictObject({
  /** Input and output tokens; what was paid earlier and is stored counts as well. */
  tokens: limit(z.int().positive()),
  usd: limit(z.number().positive()),
  /** Wall seconds of one execution of the run. */
  seconds: limit(z.number().positive()),
});
export type Budget = z.infer<typeof Budget>;

/** US dollars per million tokens. */
export const Price = z.strictObject({
  input: z.number().min(0),
  /** Input that the server answered from its prefix cache; as `input` when absent. */
  cached_input: z.number().min(0).optional(),
  output: z.number().min(0),
});
export type Price = z.infer<typeof Price>;

/** Prices by model name; `*` is any other. */
export const PriceTable = z.record(z.string(), Price);
export type PriceTable = z.infer<typeof PriceTable>;

/** Tokens and US dollars. */
export interface Amount {
  readonly tokens: number;
  readonly usd: number;
}

/**
 * What the calls of one part of a run have come to, where all processes that work on the run see it. Every method may throw
 * StoreUnavailableError.
 */
export interface PartSpendings {
  /** Begins the part, again too: room that a dead process had taken for it is free. @returns what it has come to so far */
  begin(): Promise<Amount>;
  /**
   * Takes room for a call if everything that the run has spent and taken stays within `most` with it; null = no limit.
   * @returns null; or what the run has spent so far, where there is no room
   */
  take(room: Amount, most: Pick<Budget, keyof Amount>): Promise<Amount | null>;
  /** Gives room back and counts what was spent. */
  settle(room: Amount, spent: Amount): Promise<void>;
  /** What the whole run has spent. */
  ofRun(): Promise<Amount>;
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
