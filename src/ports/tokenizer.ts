/** How long a text is to a model. Other models cut text otherwise, so a count is an estimate with some per cent of error. */
export abstract class Tokenizer {
  /** @returns tokens of `text`, at least 0; linear in its length, whatever the text */
  abstract count(text: string): Promise<number>;
}
