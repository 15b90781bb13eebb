import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LlmClient } from '../ports/llm-client.js';
import { OpenAiLlmClient } from './openai-llm-client.js';
import { RecordingLlmClient } from './recording-llm-client.js';
import { ReplayLlmClient } from './replay-llm-client.js';

const MAX_RETRIES = 5;

export interface LlmSettings {
  readonly baseUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly concurrency: number;
  readonly timeoutS: number;
  readonly replay: string | undefined;
  readonly record: string | undefined;
}

/** The client the settings ask for: a replay, the model, or the model with a recorder around it. */
export function createLlmClient(settings: LlmSettings): LlmClient {
  const { baseUrl, apiKey, concurrency, timeoutS, replay, record } = settings;
  if (replay !== undefined) return new ReplayLlmClient(replay);
  const model = new OpenAiLlmClient({
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
    concurrency,
    timeoutS,
    maxRetries: MAX_RETRIES,
  });
  return record === undefined ? model : new RecordingLlmClient(model, record);
}

/**
 * Who answers, as part of the key of stored answers: a replay's answers are never taken for a model's, nor those of a
 * recording for those of another.
 */
export function endpointName({ baseUrl, replay }: LlmSettings): string {
  if (replay === undefined) return baseUrl ?? 'https://api.openai.com/v1';
  const file = statSync(replay, { throwIfNoEntry: false });
  return `replay:${resolve(replay)}:${file?.size ?? 0}:${file?.mtimeMs ?? 0}`;
}
