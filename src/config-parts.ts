import { cpus, homedir } from 'node:os';
import { join } from 'node:path';
import type { AgentLimits } from './agent/agent-limits.js';
import { BadInputError } from './core/errors.js';
import { clusterOf, type Settings } from './settings.js';

/** More pods than this one process cannot keep busy. */
const PODS = 512;
const GB = 1e9;

type StorePlace = { readonly file: string } | { readonly postgres: string };

/** The engine of the sandboxes, and what each of them may take. */
export function sandboxOf(s: Settings) {
  return {
    idleSessions: s.BESTK_AGENT_SESSIONS,
    engine: s.BESTK_SANDBOX,
    dockerHost: s.DOCKER_HOST,
    cluster: clusterOf(s),
    concurrency: s.BESTK_SANDBOX_CONCURRENCY ?? roomOf(s.BESTK_SANDBOX),
    ttlS: s.BESTK_SANDBOX_TTL_S,
    cpus: s.BESTK_SANDBOX_CPUS,
    memoryMb: s.BESTK_SANDBOX_MEMORY_MB,
    diskMb: s.BESTK_SANDBOX_DISK_MB,
    pids: s.BESTK_SANDBOX_PIDS,
  };
}

/** What becomes of images that are not on the engine, and of those that were pulled. */
export function imagesOf({ BESTK_PULL: pull, BESTK_IMAGE_CACHE_GB: gb, DOCKER_CONFIG: folder }: Settings) {
  const cacheBytes = gb === undefined ? undefined : gb * GB;
  return { pull, cacheBytes, configFolder: folder ?? join(homedir(), '.docker') };
}

/** Sandboxes at once: a machine has its cores, a cluster its own quota. */
function roomOf(engine: Settings['BESTK_SANDBOX']): number {
  return engine === 'docker' ? Math.max(1, cpus().length) : PODS;
}

/** The agent's model, format and limits. @throws BadInputError for limits that contradict each other */
export function agentOf(s: Settings) {
  return {
    model: s.BESTK_AGENT_MODEL,
    format: s.BESTK_AGENT_FORMAT,
    limits: agentLimits(s),
    checkEvery: s.BESTK_AGENT_CHECK_EVERY,
    stopBelow: s.BESTK_AGENT_STOP_BELOW,
  };
}

/** How the judge is asked. */
export function judgeOf(s: Settings) {
  return {
    method: s.BESTK_EF_METHOD,
    samples: s.BESTK_EF_SAMPLES,
    votes: s.BESTK_EF_VOTES,
    promptTokens: s.BESTK_EF_PROMPT_TOKENS,
    answerTokens: s.BESTK_EF_ANSWER_TOKENS,
    minMass: s.BESTK_EF_MIN_MASS,
    prefill: s.BESTK_EF_PREFILL,
    secondOpinion: s.BESTK_EF_SECOND_OPINION,
  };
}

function agentLimits(s: Settings): AgentLimits {
  if (s.BESTK_AGENT_MAX_STEPS_ABSOLUTE < s.BESTK_AGENT_MAX_STEPS) {
    throw new BadInputError(
      `is less than BESTK_AGENT_MAX_STEPS (${s.BESTK_AGENT_MAX_STEPS}).`,
      { file: 'environment', field: 'BESTK_AGENT_MAX_STEPS_ABSOLUTE' },
      'Give at least as many steps as the agent is told of.',
    );
  }
  return {
    max_steps: s.BESTK_AGENT_MAX_STEPS,
    max_steps_absolute: s.BESTK_AGENT_MAX_STEPS_ABSOLUTE,
    max_tokens: s.BESTK_AGENT_MAX_TOKENS,
    max_answer_tokens: s.BESTK_AGENT_MAX_ANSWER_TOKENS,
    action_s: s.BESTK_AGENT_ACTION_S,
    model_call_s: s.BESTK_AGENT_MODEL_CALL_S,
    trajectory_s: s.BESTK_AGENT_TRAJECTORY_S,
    condense_at: s.BESTK_AGENT_CONDENSE_AT ?? null,
  };
}

/** A file, or the URL of a PostgreSQL database. */
export function storePlace(url: string | undefined, stateHome: string | undefined): StorePlace {
  if (url === undefined)
    return { file: join(stateHome ?? join(homedir(), '.local', 'state'), 'bestk', 'store.sqlite') };
  if (/^postgres(ql)?:/.test(url)) return { postgres: url };
  return { file: url.replace(/^(file|sqlite):(\/\/(?=\/))?/, '') };
}
