import type { Completion, Message } from '../ports/llm-client.js';
import type { Tokenizer } from '../ports/tokenizer.js';
import type { ActionFormat } from './action-format.js';
import { clipChars } from './observation.js';

const CONDENSED = '[This observation was taken out to save room.]';
/** An answer longer than this is kept in part: it was not written to be read. */
const LONGEST_ANSWER = 200_000;
/** What an exchange costs beside its texts. */
const TOKENS_OF_FRAME = 8;

interface Exchange {
  readonly answered: Message;
  observed: Message;
  /** Tokens of both, by our own count; null until somebody asks. */
  tokens: number | null;
}

/** What the model sees: the prompt, then its answers and what they came to. */
export class Conversation {
  private readonly exchanges: Exchange[] = [];
  /** Tokens of everything before the last exchange, as the server counted them. */
  private counted: number | null = null;

  constructor(
    private readonly prompt: readonly Message[],
    private readonly format: ActionFormat,
    private readonly tokenizer: Tokenizer,
  ) {}

  /** @param observation with the count of steps left */
  add(completion: Completion, observation: string): void {
    const { format } = this;
    const answered = format.answered(completion);
    this.exchanges.push({
      answered: { ...answered, content: clipChars(answered.content, LONGEST_ANSWER) },
      observed: format.observed(completion, observation),
      tokens: null,
    });
    // Not the output: what the model thought is not shown to it again.
    this.counted = completion.usage?.input_tokens ?? null;
  }

  messages(): readonly Message[] {
    return [...this.prompt, ...this.exchanges.flatMap(({ answered, observed }) => [answered, observed])];
  }

  /** Tokens of the next prompt: the server's last count, or an estimate where it gives none. */
  async tokens(): Promise<number> {
    const last = this.exchanges.at(-1);
    if (this.counted !== null && last !== undefined) {
      return this.counted + (await this.tokensOf(last));
    }
    let total = 0;
    for (const { content } of this.prompt) total += (await this.tokenizer.count(content)) + TOKENS_OF_FRAME;
    for (const exchange of this.exchanges) total += await this.tokensOf(exchange);
    return total;
  }

  /**
   * Replaces observations by a note, oldest first, the last one never, until about `limit` tokens are left: R2E-Gym's
   * policy (arXiv 2504.07164, appendix).
   */
  async condense(limit: number): Promise<void> {
    let excess = (await this.tokens()) - limit;
    for (const exchange of this.exchanges.slice(0, -1)) {
      if (excess <= 0) return;
      if (exchange.observed.content === CONDENSED) continue;
      excess -= await this.tokenizer.count(exchange.observed.content);
      exchange.observed = { ...exchange.observed, content: CONDENSED };
      exchange.tokens = null;
      // The server's count was for what has just been taken out.
      this.counted = null;
    }
  }

  private async tokensOf(exchange: Exchange): Promise<number> {
    const { answered, observed } = exchange;
    const calls = (answered.tool_calls ?? []).map((call) => call.name + call.arguments).join('');
    exchange.tokens ??=
      (await this.tokenizer.count(answered.content + calls)) +
      (await this.tokenizer.count(observed.content)) +
      2 * TOKENS_OF_FRAME;
    return exchange.tokens;
  }
}
