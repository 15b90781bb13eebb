import { Completion, type LlmClient } from '../../src/ports/llm-client.js';
import { completionRequest } from '../fakes/completions.js';

export interface LlmClientUnderTest {
  readonly client: LlmClient;
  close(): Promise<void>;
}

/** What the client under test is asked; its answers must be those of `judgementReply(0.9)`. */
export const contractRequest = completionRequest({ messages: [{ role: 'user', content: 'contract' }] });

/** What every client keeps, whatever answers behind it. */
export function llmClientContract(name: string, open: () => Promise<LlmClientUnderTest>): void {
  describe(`LlmClient: ${name}`, () => {
    let under: LlmClientUnderTest;
    const { signal } = new AbortController();

    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    it('answers in the words of the port', async () => {
      const answer = await under.client.complete(contractRequest, signal);
      expect(Completion.parse(answer)).toEqual(answer);
      expect(answer).toMatchObject({ text: '<judgement>YES</judgement>', finish_reason: 'stop', model: 'judge' });
      expect(answer.usage).toEqual({ input_tokens: 100, cached_input_tokens: 64, output_tokens: 6 });
    });

    it('gives one entry per token, whose tokens make up the text, with their alternatives', async () => {
      const { logprobs, text } = await under.client.complete(contractRequest, signal);
      expect(logprobs?.map(({ token }) => token).join('')).toBe(text);
      const verdict = logprobs?.[4];
      expect(Math.exp(verdict?.logprob ?? 0)).toBeCloseTo(0.9, 12);
      expect(verdict?.top.map(({ token }) => token)).toEqual(['YES', 'NO']);
    });

    it('answers calls that are under way at once each for itself', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => under.client.complete(contractRequest, signal)));
      expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['<judgement>YES</judgement>']));
    });

    it('leaves the request as it is', async () => {
      const before = structuredClone(contractRequest);
      await under.client.complete(contractRequest, signal);
      expect(contractRequest).toEqual(before);
    });

    it('throws the reason of a signal that is already aborted', async () => {
      const reason = new Error('enough');
      await expect(under.client.complete(contractRequest, AbortSignal.abort(reason))).rejects.toBe(reason);
    });
  });
}
