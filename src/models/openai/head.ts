import { z } from 'zod';
import type { Completion, CompletionRequest, HeadRoute } from '../../ports/llm-client.js';
import { readUsage, UnreadableReplyError, Usage } from './reply.js';

/** A call to a model's classification head. */
export type HeadRequest = CompletionRequest & { readonly head: HeadRoute };

/** URL and body for a head. @param baseUrl of Chat Completions; vLLM's own routes come without its version */
export function headCall(request: HeadRequest, baseUrl: string): { readonly url: string; readonly body: object } {
  const { model, head, messages } = request;
  const [first = '', second = ''] = messages.map(({ content }) => content);
  const base = baseUrl.replace(/\/$/, '');
  const root = base.replace(/\/v\d+$/, '');
  switch (head) {
    case 'classify':
      return { url: `${root}/classify`, body: { model, input: first } };
    case 'sglang':
      return { url: `${base}/classify`, body: { model, input: first } };
    case 'pooling':
      // Requested raw and applied in bestk, since the activation differs between versions.
      return { url: `${root}/pooling`, body: { model, input: first, task: 'classify', use_activation: false } };
    case 'score':
      return { url: `${root}/score`, body: { model, text_1: first, text_2: second } };
  }
}

const Numbers = z.array(z.number()).min(1);
const Reply = z.object({
  model: z.string().nullish(),
  data: z.tuple([
    z.union([
      z.object({ probs: Numbers }).transform(({ probs }) => probs),
      z.object({ data: Numbers }).transform(({ data }) => data),
      z.object({ score: z.number() }).transform(({ score }) => [score]),
    ]),
  ]),
  usage: Usage,
});

/** @throws UnreadableReplyError with the beginning of the reply */
export function readHead(raw: unknown, requestedModel: string): Completion {
  const parsed = Reply.safeParse(raw);
  if (!parsed.success) {
    throw new UnreadableReplyError(
      `its answer has no outputs of a classification head: ${JSON.stringify(raw ?? null).slice(0, 200)}`,
    );
  }
  const { model, data, usage } = parsed.data;
  const nothing = { text: '', reasoning: '', tool_calls: [], logprobs: null, finish_reason: 'stop' };
  return { ...nothing, outputs: data[0], usage: readUsage(usage), model: model ?? requestedModel };
}
