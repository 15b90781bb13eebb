import { Tokenizer } from '../ports/llm-client.js';

/** Pieces of this many characters are counted apart: a run of one letter takes the encoder time beyond linear. */
const PIECE = 4_096;

type Count = (text: string) => number;

/** Tokens as OpenAI's `o200k_base` cuts them. The vocabulary is loaded at the first count. */
export class GptTokenizer extends Tokenizer {
  #counter: Promise<Count> | undefined;

  async count(text: string): Promise<number> {
    this.#counter ??= load();
    const count = await this.#counter;
    let tokens = 0;
    for (let at = 0; at < text.length; at += PIECE) tokens += count(text.slice(at, at + PIECE));
    return tokens;
  }
}

async function load(): Promise<Count> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  // Words such as <|endoftext|> in a text are text.
  const disallowedSpecial = new Set<string>();
  return (text) => countTokens(text, { disallowedSpecial });
}
