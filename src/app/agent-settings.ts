import type { AgentSettings } from '../agent/loop/rollout-task.js';
import { type AgentLimits, GivenAgent } from '../core/run/agent.js';
import type { RunRequest } from '../core/run/run-request.js';
import { endpointName } from '../models/llm-clients.js';
import type { RunWork } from '../runs/run-dependencies.js';
import type { Config } from './config.js';

/** Temperature 1, since K equal answers would be one sample (field guide of DeepSWE's test-time scaling). */
export const AGENT_TEMPERATURE = 1;

/** Agents trained in R2E-Gym's scaffold, whose calls are tags in the text. */
const R2E_AGENT = /deepswe(?!-?verifier)|r2e.*agent/i;

export interface NamedSettings {
  readonly name: string | null;
  readonly settings: AgentSettings;
}

export function agentsOfWork({ agent = null, agents = null }: RunWork): Pick<RunRequest, 'agent' | 'agents'> {
  return { agent, agents };
}

const AS_CONFIGURED = GivenAgent.parse({});

/** The agents of a run, with missing values from the settings; empty if any of them has no model. */
export function settingsOfAgents(
  config: Config,
  { agent, agents }: Pick<RunRequest, 'agent' | 'agents'>,
): readonly NamedSettings[] {
  const given = agents?.map((own) => ({ name: own.name, own })) ?? [{ name: null, own: agent ?? AS_CONFIGURED }];
  const found = given.map(({ name, own }) => ({ name, settings: agentSettings(config, own) }));
  return found.every((each): each is NamedSettings => each.settings !== null) ? found : [];
}

function agentSettings({ llm, agent }: Config, given: GivenAgent): AgentSettings | null {
  const model = given.model ?? agent.model;
  if (model === undefined) return null;
  const { temperature, top_p: topP, instructions, limits, command, trajectory } = given;
  const format = given.format ?? agent.format;
  return {
    model,
    endpoint: endpointName(llm, model),
    format,
    temperature: temperature ?? AGENT_TEMPERATURE,
    limits: limitsOf(agent.limits, limits ?? {}),
    ...said({ topP, instructions, trajectory }),
    ...(command === null ? wordsOf(model, format, given.prompt ?? agent.prompt) : { command }),
  };
}

/** Drops null members, so that keys derived from the rest stay the same. */
function said<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

function wordsOf(
  model: string,
  format: AgentSettings['format'],
  prompt: 'bestk' | 'r2e' | undefined,
): Pick<AgentSettings, 'prompt'> {
  const words = prompt ?? (R2E_AGENT.test(model) ? 'r2e' : 'bestk');
  // The r2e prompt writes calls as tags in the text.
  return words === 'r2e' && format === 'xml' ? { prompt: 'agent/r2e' } : {};
}

/** Raises the absolute limit to the agent's own step limit, so that it is not stopped before it is told to submit. */
function limitsOf(settings: AgentLimits, own: NonNullable<GivenAgent['limits']>): AgentLimits {
  const limits = { ...settings, ...own };
  return { ...limits, max_steps_absolute: Math.max(limits.max_steps, limits.max_steps_absolute) };
}
