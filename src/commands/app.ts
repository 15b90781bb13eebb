import type { RunService } from '../pipeline/run-service.js';
import type { Sandbox } from '../ports/sandbox.js';
import type { LlmClient } from '../ports/llm-client.js';

/** What a command needs of the composed application. */
export interface App {
  readonly runs: RunService;
  readonly sandbox: Sandbox;
  readonly llm: LlmClient;
  readonly close: () => Promise<void>;
}

/** Composes the application when a command needs it; bad settings stop it with their name. */
export type OpenApp = () => Promise<App>;
