import type { RunDependenciesFactory } from '../runs/run-dependencies.js';
import type { RunService } from '../runs/run-service.js';
import type { RunWorker } from '../runs/run-worker.js';
import type { LlmClient } from '../ports/llm-client.js';
import type { HostResources } from '../ports/host-resources.js';
import type { Sandbox } from '../ports/sandbox.js';

/** What a command needs of the composed application. */
export interface App {
  readonly runs: RunService;
  /** Works on runs in this process. */
  readonly worker: RunWorker;
  readonly sandbox: Sandbox;
  readonly room: HostResources;
  /** What runs work with under the present settings. */
  readonly dependencies: RunDependenciesFactory;
  readonly llm: LlmClient;
  /** The store's file, or server and database. */
  readonly storePath: string;
  readonly verifierModel: string | null;
  readonly agentModel: string | null;
  /** Model calls are answered from a recording. */
  readonly replaying: boolean;
  /** Hash of all settings that what a run finds can depend on. */
  setup(): Promise<string>;
  /** Hands unfinished runs back, removes this process's containers, closes the store. */
  close(): Promise<void>;
}

/**
 * Composes the application when a command needs it.
 * @param settings in the place of the environment's
 * @throws BadInputError for a bad setting, StoreUnavailableError
 */
export type OpenApp = (settings?: Readonly<Record<string, string>>) => Promise<App>;
