import type { z } from 'zod';
import type { FormatName } from './agent/action-formats.js';
import type { ClusterOptions } from './adapters/kubernetes-options.js';
import type { AgentLimits } from './agent/agent-limits.js';
import type { ApiKey } from './core/api-key.js';
import { BadInputError } from './core/errors.js';
import { passwordIn } from './core/secrets.js';
import type { JudgeMethod } from './core/verifier-name.js';
import { agentOf, imagesOf, judgeOf, sandboxOf, storePlace } from './config-parts.js';
import { Settings } from './settings.js';

export interface Config {
  readonly llm: {
    readonly baseUrl: string | undefined;
    /** Base URLs of models that another server has. */
    readonly modelUrls: Readonly<Record<string, string>>;
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
    /** Steps between two looks of the judge at a running rollout; undefined = none. */
    readonly checkEvery: number | undefined;
    readonly stopBelow: number;
  };
  readonly judge: {
    readonly method: JudgeMethod;
    readonly samples: number;
    readonly votes: number;
    readonly promptTokens: number;
    readonly answerTokens: number;
    readonly minMass: number;
    readonly prefill: boolean;
    readonly secondOpinion: boolean;
  };
  /** Who writes tests; without a model nobody does. */
  readonly tests: {
    readonly model: string | undefined;
    readonly samples: number;
    readonly count: number;
    readonly answerTokens: number;
    readonly author: 'single' | 'agent';
    /** Scripts taken from each candidate's own trajectory, at most. */
    readonly harvest: number;
  };
  /** Folder of criteria to use instead of the shipped ones. */
  readonly criteria: string | undefined;
  /** File of the price table. */
  readonly prices: string | undefined;
  readonly sandbox: {
    /** Agents' containers open at once; they wait for their model most of the time. */
    readonly idleSessions: number;
    readonly engine: 'docker' | 'kubernetes';
    readonly dockerHost: string | undefined;
    readonly cluster: ClusterOptions;
    readonly concurrency: number;
    readonly ttlS: number;
    readonly cpus: number;
    readonly memoryMb: number;
    readonly diskMb: number;
    readonly pids: number;
  };
  readonly images: {
    readonly pull: 'never' | 'missing';
    /** Bound of all images that bestk pulled. */
    readonly cacheBytes: number | undefined;
    /** Where Docker keeps its `config.json`. */
    readonly configFolder: string;
  };
  /** Floors of free disk and memory in MiB; undefined = the defaults, 0 = none. */
  readonly floors: { readonly diskMb: number | undefined; readonly memoryMb: number | undefined };
  /** A file, absolute or relative, or the address of a PostgreSQL database. */
  readonly store: { readonly file: string } | { readonly postgres: string };
  /** How long ended runs and unused results are kept; undefined = for ever. */
  readonly retentionDays: number | undefined;
  readonly apiKeys: readonly ApiKey[];
  /** Requests a second of one API key, or of one address without. */
  readonly rateLimit: number;
  /** What must not be printed: the model's key, and the password in DATABASE_URL. */
  readonly secrets: readonly string[];
  readonly logLevel: string;
  /** How the service stops. */
  readonly stop: {
    /** How long runs under way may still finish before they are handed back. */
    readonly drainS: number;
    /** How long handing back and removing containers may take then. */
    readonly limitS: number;
  };
}

/** DI token of {@link Config}. */
export const CONFIG = Symbol('Config');

/** The only reader of the environment. @throws BadInputError that names the first wrong variable and how many more there are */
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
      modelUrls: s.BESTK_MODEL_URLS,
      apiKey: s.OPENAI_API_KEY,
      verifierModel: s.BESTK_VERIFIER_MODEL,
      concurrency: s.BESTK_LLM_CONCURRENCY,
      timeoutS: s.BESTK_LLM_TIMEOUT_S,
      replay: s.BESTK_REPLAY,
      record: s.BESTK_RECORD,
    },
    agent: agentOf(s),
    judge: judgeOf(s),
    tests: {
      model: s.BESTK_TEST_MODEL,
      samples: s.BESTK_TEST_SAMPLES,
      count: s.BESTK_TEST_COUNT,
      answerTokens: s.BESTK_TEST_ANSWER_TOKENS,
      author: s.BESTK_TEST_AUTHOR,
      harvest: s.BESTK_TEST_HARVEST,
    },
    criteria: s.BESTK_EF_CRITERIA,
    prices: s.BESTK_PRICES,
    sandbox: sandboxOf(s),
    images: imagesOf(s),
    floors: { diskMb: s.BESTK_MIN_FREE_DISK_MB, memoryMb: s.BESTK_MIN_FREE_MEMORY_MB },
    store: storePlace(s.DATABASE_URL, s.XDG_STATE_HOME),
    retentionDays: s.BESTK_RETENTION_DAYS,
    apiKeys: s.BESTK_API_KEYS,
    rateLimit: s.BESTK_RATE_LIMIT,
    secrets: [s.OPENAI_API_KEY, passwordIn(s.DATABASE_URL)].filter((secret) => secret !== undefined),
    logLevel: s.BESTK_LOG_LEVEL,
    stop: { drainS: s.BESTK_DRAIN_S, limitS: s.BESTK_SHUTDOWN_S },
  };
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
