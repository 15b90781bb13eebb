import { cpus, homedir } from 'node:os';
import { join } from 'node:path';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { AgentLimits } from '../core/run/agent.js';
import type { SettingsDesk } from '../commands/init.js';
import { type ApiKey, passwordIn } from '../core/secrets.js';
import { BadInputError } from '../core/errors/errors.js';
import { HEAD_ROUTES } from '../ports/llm-client.js';
import type { LlmSettings } from '../models/llm-clients.js';
import type { StorePlace } from '../store/store.js';
import { clusterOf, Settings } from './settings.js';

export interface Config {
  readonly llm: LlmSettings & { readonly verifierModel: string | undefined };
  readonly agent: ReturnType<typeof agentOf>;
  readonly judge: ReturnType<typeof judgeOf>;
  /** The test writer; without a model no tests are generated. */
  readonly tests: {
    readonly model: string | undefined;
    readonly samples: number;
    readonly count: number;
    /** Answers sampled for tests that hold on base. */
    readonly holding: number;
    readonly author: 'single' | 'agent';
    /** Maximum number of scripts taken from each candidate's own trajectory. */
    readonly harvest: number;
    /** Maximum rounds of inputs that split the candidates. */
    readonly rounds: number;
  };
  /** Modules with user-supplied verifiers. */
  readonly verifiers: readonly string[];
  /** Seconds of existing tests per patch, if bestk chooses the tests. */
  readonly regressionS: number;
  /** Folder of user prompts and criteria. */
  readonly prompts: string | undefined;
  /** File of the price table. */
  readonly prices: string | undefined;
  readonly sandbox: ReturnType<typeof sandboxOf>;
  readonly images: ReturnType<typeof imagesOf>;
  /** Minimum free disk in MiB; undefined = the default, 0 = none. */
  readonly minFreeDiskMb: number | undefined;
  /** A file path, absolute or relative, or the URL of a PostgreSQL database. */
  readonly store: StorePlace;
  /** URL of the job queue server; null = the store belongs to one process. */
  readonly queue: string | null;
  /** How long ended runs and unused results are kept; undefined = for ever. */
  readonly retentionDays: number | undefined;
  readonly apiKeys: readonly ApiKey[];
  /** Strings that must not be printed: the model's key, and the passwords in DATABASE_URL and BESTK_QUEUE_URL. */
  readonly secrets: readonly string[];
  readonly logLevel: string;
  /** Time limits for stopping the service. */
  readonly stop: {
    /** Time for running work to finish before it is handed back. */
    readonly drainS: number;
    /** Time after that for handing back work and removing containers. */
    readonly limitS: number;
  };
}

/** DI token of {@link Config}. */
export const CONFIG = Symbol('Config');

/** The environment, overridden by some settings. @throws BadInputError for an unknown one */
export function environmentWith(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const unknown = Object.keys(settings).find((name) => !(name in Settings.shape));
  if (unknown !== undefined) throw unknownSetting(unknown, { field: unknown });
  // Model URLs are appended to those of the environment.
  const urls = [process.env.BESTK_MODEL_URLS ?? '', settings.BESTK_MODEL_URLS ?? ''].filter((list) => list !== '');
  return { ...process.env, ...settings, ...(urls.length === 0 ? {} : { BESTK_MODEL_URLS: urls.join(',') }) };
}

/** Descriptions of all settings, and a check. */
export function settingsDesk(): SettingsDesk {
  const settings = Object.entries(Settings.shape).map(([name, schema]) => {
    const preset = z.safeParse(schema as z.ZodType, undefined).data;
    const shown = ['string', 'number', 'boolean'].includes(typeof preset) ? String(preset) : '';
    return { name, description: schema.description ?? '', preset: shown };
  });
  return { settings, check: (given) => loadConfig(environmentWith(given)) };
}

/**
 * The only reader of the environment. @throws BadInputError naming the first wrong variable and how many more there are, or an
 * unknown one that begins with `BESTK_`
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const unknown = Object.entries(present).find((each) => isUnknownSetting(...each))?.[0];
  if (unknown !== undefined) throw unknownSetting(unknown, { file: 'environment', field: unknown });
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
      holding: s.BESTK_TEST_HOLDING,
      author: s.BESTK_TEST_AUTHOR,
      harvest: s.BESTK_TEST_HARVEST,
      rounds: s.BESTK_TEST_OBSERVE,
    },
    verifiers: s.BESTK_VERIFIERS,
    regressionS: s.BESTK_REGRESSION_S,
    prompts: s.BESTK_PROMPTS,
    prices: s.BESTK_PRICES,
    sandbox: sandboxOf(s),
    images: imagesOf(s),
    minFreeDiskMb: s.BESTK_MIN_FREE_DISK_MB,
    store: storePlace(s.DATABASE_URL, s.XDG_STATE_HOME),
    queue: queueOf(s),
    retentionDays: s.BESTK_RETENTION_DAYS,
    apiKeys: s.BESTK_API_KEYS,
    secrets: [s.OPENAI_API_KEY, passwordIn(s.DATABASE_URL), passwordIn(s.BESTK_QUEUE_URL)].filter(
      (secret) => secret !== undefined,
    ),
    logLevel: s.BESTK_LOG_LEVEL,
    stop: { drainS: s.BESTK_DRAIN_S, limitS: s.BESTK_SHUTDOWN_S },
  };
}

/** Variables of bestk's clients, compose.yaml and the scripts of a checkout. */
const READ_BY_OTHER_PROGRAMS: ReadonlySet<string> = new Set([
  ...['BESTK_API_KEY', 'BESTK_CLI', 'BESTK_REWARD_FILE', 'BESTK_URL'],
  ...['BESTK_IMAGE', 'BESTK_LISTEN'],
  ...['BESTK_ATTACKS_TABLE', 'BESTK_CLUSTER_TOOL', 'BESTK_REAL_DATA', 'BESTK_TEST_K8S', 'BESTK_TEST_KUBECONFIG'],
]);

/** What Kubernetes sets in every pod for a service whose name begins with `bestk`. */
const SERVICE_LINK = /^BESTK_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;

function isUnknownSetting(name: string, value = ''): boolean {
  const isServiceLink = SERVICE_LINK.test(name) || (/^BESTK_(\w+_)?PORT$/.test(name) && /^\w+:\/\//.test(value));
  return /^BESTK_/.test(name) && !(name in Settings.shape) && !READ_BY_OTHER_PROGRAMS.has(name) && !isServiceLink;
}

function unknownSetting(name: string, place: BadInputError['place']): BadInputError {
  const nearest = closest(name, Object.keys(Settings.shape));
  const isLikely = distance(name, nearest) <= name.length / 4;
  return new BadInputError(
    'is no setting.',
    place,
    `${isLikely ? `Did you mean ${nearest}?` : 'Unset it.'} docs/settings.md lists all settings.`,
  );
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

/** Maximum pods: one process cannot keep more busy. */
const PODS = 512;
const GB = 1e9;

/** The sandbox engine, and the limits of each sandbox. */
export function sandboxOf(s: Settings) {
  return {
    /** Maximum open agent containers; these wait for their model most of the time. */
    idleSessions: s.BESTK_AGENT_SESSIONS,
    engine: s.BESTK_SANDBOX,
    dockerHost: s.DOCKER_HOST,
    cluster: clusterOf(s),
    concurrency: s.BESTK_SANDBOX_CONCURRENCY ?? roomOf(s.BESTK_SANDBOX),
    ttlS: s.BESTK_SANDBOX_TTL_S,
    cpus: s.BESTK_SANDBOX_CPUS,
    memoryMb: s.BESTK_SANDBOX_MEMORY_MB,
    diskMb: s.BESTK_SANDBOX_DISK_MB,
  };
}

/** How images are pulled and cached. */
export function imagesOf({ BESTK_PULL: pull, BESTK_IMAGE_CACHE_GB: gb, DOCKER_CONFIG: folder }: Settings) {
  return {
    pull,
    /** Size limit of all images that bestk pulled. */
    cacheBytes: gb === undefined ? undefined : gb * GB,
    /** Folder of Docker's `config.json`. */
    configFolder: folder ?? join(homedir(), '.docker'),
  };
}

/** Concurrent sandboxes: a machine is limited by its cores, a cluster by its quota. */
function roomOf(engine: Settings['BESTK_SANDBOX']): number {
  return engine === 'docker' ? Math.max(1, cpus().length) : PODS;
}

/** The agent's model, format and limits. @throws BadInputError for contradicting settings */
export function agentOf(s: Settings) {
  if (s.BESTK_AGENT_PROMPT === 'r2e' && s.BESTK_AGENT_FORMAT !== 'xml') {
    throw new BadInputError(
      `"r2e" describes calls as tags in the text, but BESTK_AGENT_FORMAT is "${s.BESTK_AGENT_FORMAT}".`,
      { file: 'environment', field: 'BESTK_AGENT_PROMPT' },
      'Set BESTK_AGENT_FORMAT=xml, or unset BESTK_AGENT_PROMPT.',
    );
  }
  return {
    model: s.BESTK_AGENT_MODEL,
    format: s.BESTK_AGENT_FORMAT,
    limits: agentLimits(s),
    /** Undefined = chosen by model name. */
    prompt: s.BESTK_AGENT_PROMPT,
    /** Steps between checks of a running rollout by the judge; undefined = none. */
    checkEvery: s.BESTK_AGENT_CHECK_EVERY,
  };
}

/** How the judge is asked. */
export function judgeOf(s: Settings) {
  const isOn = (word: (typeof s.BESTK_EF_OPTIONS)[number]): boolean => s.BESTK_EF_OPTIONS.includes(word);
  return {
    /** Undefined = 1, or 8 yes/no votes if the server returns no log-probabilities. */
    samples: s.BESTK_EF_SAMPLES,
    promptTokens: s.BESTK_EF_PROMPT_TOKENS,
    prefill: isOn('prefill'),
    patchAlone: isOn('patch-alone'),
    secondOpinion: isOn('second-opinion'),
    /** Undefined = chosen by model name. */
    prompt: s.BESTK_EF_PROMPT,
    show: s.BESTK_EF_SHOW,
    /** API route for a critic's head. */
    head: HEAD_ROUTES.find((route) => isOn(`critic-${route}`)) ?? HEAD_ROUTES[0],
    think: isOn('think'),
    summaries: isOn('summaries'),
  };
}

function agentLimits(s: Settings): AgentLimits {
  if (s.BESTK_AGENT_MAX_STEPS_ABSOLUTE < s.BESTK_AGENT_MAX_STEPS) {
    throw new BadInputError(
      `is less than BESTK_AGENT_MAX_STEPS (${s.BESTK_AGENT_MAX_STEPS}).`,
      { file: 'environment', field: 'BESTK_AGENT_MAX_STEPS_ABSOLUTE' },
      'Set it to at least BESTK_AGENT_MAX_STEPS.',
    );
  }
  return AgentLimits.parse({
    max_steps: s.BESTK_AGENT_MAX_STEPS,
    max_steps_absolute: s.BESTK_AGENT_MAX_STEPS_ABSOLUTE,
    ...s.BESTK_AGENT_LIMITS,
  });
}

/** A file, or the URL of a PostgreSQL database. */
export function storePlace(url: string | undefined, stateHome: string | undefined): StorePlace {
  if (url === undefined)
    return { file: join(stateHome ?? join(homedir(), '.local', 'state'), 'bestk', 'store.sqlite'), hasOwnFolder: true };
  if (/^postgres(ql)?:/.test(url)) return { postgres: url };
  return { file: url.replace(/^(file|sqlite):(\/\/(?=\/))?/, '') };
}

/** The configured server, else the PostgreSQL of the store. @throws BadInputError */
function queueOf({ BESTK_QUEUE_URL: url, DATABASE_URL: database, XDG_STATE_HOME: home }: Settings): string | null {
  const place = storePlace(database, home);
  if ('postgres' in place) return url ?? place.postgres;
  if (url === undefined) return null;
  throw new BadInputError(
    'is for processes that share a PostgreSQL database, and DATABASE_URL names none.',
    { file: 'environment', field: 'BESTK_QUEUE_URL' },
    'Set DATABASE_URL=postgresql://…, or unset BESTK_QUEUE_URL.',
  );
}
