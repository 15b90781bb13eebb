import { InvalidArgumentError } from 'commander';
import { BadInputError } from '../core/errors/errors.js';
import type { RunDependenciesFactory } from '../runs/run-dependencies.js';
import type { RunService } from '../runs/run-service.js';
import type { RunWorker } from '../runs/run-worker.js';
import type { LlmClient } from '../ports/llm-client.js';
import type { HostResources, Sandbox } from '../ports/sandbox.js';

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

/** A whole number from 0. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** A whole number from 1. @throws InvalidArgumentError */
export function count(text: string): number {
  if (wholeNumber(text) === 0) throw new InvalidArgumentError('It must be at least 1.');
  return Number(text);
}

/** @throws InvalidArgumentError */
export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/** From 0 to 1. @throws InvalidArgumentError */
export function probability(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}

/** Seconds of a limit. @throws InvalidArgumentError */
export function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 1 && value <= 86_400)) throw new InvalidArgumentError('It must be a number from 1 to 86400.');
  return value;
}

/** One more value of an option that may be given several times. */
export function collected(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

/** The folder of a command that leaves a report, if it does more than estimate. @throws BadInputError */
export function outFolder({ out }: { readonly out?: string | undefined }): string {
  if (out !== undefined) return out;
  throw new BadInputError('is missing: name a folder for the report.', { field: '--out' });
}
