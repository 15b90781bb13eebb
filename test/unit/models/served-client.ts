import { OpenAiLlmClient, type OpenAiOptions } from '../../../src/models/openai/client.js';
import { type AnswerChat, ModelServer, type ServedModel } from '../../fakes/model-server.js';

/** The server of the last client made. */
export let server: ModelServer;
let opened: ModelServer | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

/** A client of a server that answers so, until the test is over. */
export async function clientOf(
  answer: AnswerChat,
  options: Partial<OpenAiOptions> = {},
  models?: readonly ServedModel[],
): Promise<OpenAiLlmClient> {
  opened = server = await ModelServer.start(answer, models);
  return new OpenAiLlmClient({ baseUrl: server.baseUrl, concurrency: 4, timeoutS: 5, maxRetries: 2, ...options });
}
