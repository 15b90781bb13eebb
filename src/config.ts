import { cpus, homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { FORMAT_NAMES, type FormatName } from './agent/action-formats.js';
import type { AgentLimits } from './agent/agent-limits.js';
import { BadInputError } from './core/errors.js';

/** Longest delay of a timer, 2^31 - 1 ms. */
const LONGEST_TIMER_S = 2_147_483;
const Positive = z.coerce.number().int().positive();
const List = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** Every setting of bestk, with its environment name. The only reader of the environment. */
const Settings = z.object({
  OPENAI_BASE_URL: z.url().optional(),
  OPENAI_API_KEY: z.string().min(1).optional(),
  BESTK_VERIFIER_MODEL: z.string().min(1).optional(),
  BESTK_AGENT_MODEL: z.string().min(1).optional(),
  BESTK_AGENT_FORMAT: z.enum(FORMAT_NAMES).default('xml'),
  BESTK_AGENT_MAX_STEPS: Positive.default(40),
  BESTK_AGENT_MAX_STEPS_ABSOLUTE: Positive.default(100),
  BESTK_AGENT_MAX_TOKENS: Positive.min(1_000).default(65_536),
  BESTK_AGENT_MAX_ANSWER_TOKENS: Positive.min(16).default(8_192),
  BESTK_AGENT_ACTION_S: Positive.default(90),
  BESTK_AGENT_MODEL_CALL_S: Positive.max(LONGEST_TIMER_S).default(7_200),
  BESTK_AGENT_TRAJECTORY_S: Positive.default(50_000),
  BESTK_AGENT_CONDENSE_AT: Positive.optional(),
  BESTK_AGENT_SESSIONS: Positive.max(4096).default(64),
  BESTK_PRICES: z.string().min(1).optional(),
  BESTK_LLM_CONCURRENCY: Positive.max(1024).default(16),
  BESTK_LLM_TIMEOUT_S: Positive.default(600),
  BESTK_SANDBOX_CONCURRENCY: Positive.max(1024).default(Math.max(1, cpus().length)),
  BESTK_SANDBOX_CPUS: z.coerce.number().positive().default(1),
  BESTK_SANDBOX_MEMORY_MB: Positive.min(64).default(4096),
  BESTK_SANDBOX_DISK_MB: Positive.min(64).default(4096),
  BESTK_SANDBOX_PIDS: Positive.min(16).default(512),
  BESTK_SANDBOX_TTL_S: Positive.min(60).default(3 * 3600),
  DOCKER_HOST: z
    .string()
    .regex(/^(unix|tcp|http|https):\/\/.+/, 'must look like unix:///var/run/docker.sock or tcp://host:2375')
    .optional(),
  DATABASE_URL: z
    .string()
    .regex(/^(file|sqlite):.+/, 'must look like file:/path/to/bestk.sqlite')
    .optional(),
  BESTK_API_KEYS: List.default([]),
  BESTK_REPLAY: z.string().min(1).optional(),
  BESTK_RECORD: z.string().min(1).optional(),
  BESTK_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  XDG_STATE_HOME: z.string().startsWith('/').optional(),
});

export interface Config {
  readonly llm: {
    readonly baseUrl: string | undefined;
    readonly apiKey: string | undefined;
    readonly verifierModel: string | undefined;
    readonly concurrency: number;
    readonly timeoutS: number;
    readonly replay: string | undefined;
    readonly record: string | undefined;
  };
  readonly agent: {
    readonly model: string | undefined;
    readonly format: FormatName;
    readonly limits: AgentLimits;
  };
  /** File of the price table. */
  readonly prices: string | undefined;
  readonly sandbox: {
    /** Agents' containers open at once; they wait for their model most of the time. */
    readonly idleSessions: number;
    readonly dockerHost: string | undefined;
    readonly concurrency: number;
    readonly ttlS: number;
    readonly cpus: number;
    readonly memoryMb: number;
    readonly diskMb: number;
    readonly pids: number;
  };
  /** Absolute or relative path of the embedded store. */
  readonly storePath: string;
  readonly apiKeys: readonly string[];
  readonly logLevel: string;
}

/** DI token of {@link Config}. */
export const CONFIG = Symbol('Config');

/** @throws BadInputError that names the first wrong variable and how many more there are */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Settings.safeParse(present);
  if (!parsed.success) throw describeProblem(parsed.error);
  const s = parsed.data;
  if (s.BESTK_REPLAY !== undefined && s.BESTK_RECORD !== undefined) {
    throw new BadInputError('BESTK_REPLAY and BESTK_RECORD exclude each other.', { field: 'BESTK_RECORD' });
  }
  return {
    llm: {
      baseUrl: s.OPENAI_BASE_URL,
      apiKey: s.OPENAI_API_KEY,
      verifierModel: s.BESTK_VERIFIER_MODEL,
      concurrency: s.BESTK_LLM_CONCURRENCY,
      timeoutS: s.BESTK_LLM_TIMEOUT_S,
      replay: s.BESTK_REPLAY,
      record: s.BESTK_RECORD,
    },
    agent: {
      model: s.BESTK_AGENT_MODEL,
      format: s.BESTK_AGENT_FORMAT,
      limits: agentLimits(s),
    },
    prices: s.BESTK_PRICES,
    sandbox: {
      idleSessions: s.BESTK_AGENT_SESSIONS,
      dockerHost: s.DOCKER_HOST,
      concurrency: s.BESTK_SANDBOX_CONCURRENCY,
      ttlS: s.BESTK_SANDBOX_TTL_S,
      cpus: s.BESTK_SANDBOX_CPUS,
      memoryMb: s.BESTK_SANDBOX_MEMORY_MB,
      diskMb: s.BESTK_SANDBOX_DISK_MB,
      pids: s.BESTK_SANDBOX_PIDS,
    },
    storePath: storePath(s.DATABASE_URL, s.XDG_STATE_HOME),
    apiKeys: s.BESTK_API_KEYS,
    logLevel: s.BESTK_LOG_LEVEL,
  };
}

function agentLimits(s: z.infer<typeof Settings>): AgentLimits {
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

function storePath(url: string | undefined, stateHome: string | undefined): string {
  if (url !== undefined) return url.replace(/^(file|sqlite):(\/\/(?=\/))?/, '');
  return join(stateHome ?? join(homedir(), '.local', 'state'), 'bestk', 'store.sqlite');
}

function describeProblem(error: z.ZodError): BadInputError {
  const [first, ...others] = error.issues;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  const name = first?.path.join('.') ?? '';
  return new BadInputError(
    `${first?.message ?? 'is wrong'}${more}`,
    { file: 'environment', field: name },
    `Correct or unset ${name}.`,
  );
}
