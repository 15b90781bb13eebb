import { z } from 'zod';
import type { ClusterOptions } from '../sandbox/kubernetes/options.js';
import { FORMAT_NAMES } from '../agent/call-formats/formats.js';
import { readApiKey, type ApiKey } from '../core/api-key.js';
import { JUDGE_METHODS } from '../core/run/verifier.js';
import { SECTIONS, YES_NO_PROMPTS } from '../../verifiers/index.js';

/** Longest delay of a timer, 2^31 - 1 ms. */
const LONGEST_TIMER_S = 2_147_483;
const Positive = z.coerce.number().int().positive();
const Switch = z
  .enum(['true', 'false'])
  .default('false')
  .transform((word) => word === 'true');
const List = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** An endpoint's name stands in reports: a key belongs into OPENAI_API_KEY. */
const Endpoint = z.url({ protocol: /^https?$/ }).refine((url) => !URL.canParse(url) || isBare(new URL(url)), {
  message: 'must not hold a user or a password; set OPENAI_API_KEY',
});

function isBare({ username, password }: URL): boolean {
  return username === '' && password === '';
}

/** `model=url, model=url`; a model's name may hold anything but `=` and commas. */
const ModelUrls = List.transform((entries, context) => {
  const pairs = entries.map(
    (entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)] as const,
  );
  for (const [index, [model, url]] of pairs.entries()) {
    if (model === '' || !Endpoint.safeParse(url).success || !entries[index]?.includes('=')) {
      const message = `entry ${index + 1} must look like model=http://host:port/v1, without a password`;
      context.addIssue({ code: 'custom', message });
    }
  }
  return Object.fromEntries(pairs);
});

const ApiKeys = List.transform((entries, context): readonly ApiKey[] => {
  const keys = entries.map(readApiKey);
  // An entry may be a key, and messages are printed: it is named by its place.
  const wrong = keys.indexOf(null);
  const known = keys.filter((key) => key !== null);
  const twice = known.find(({ name }, index) => known.findIndex((other) => other.name === name) !== index);
  if (wrong !== -1) {
    const message = `entry ${wrong + 1} must be name:scopes:SHA-256 in hex, with the scopes read, run, admin joined by +, or a key without colons`;
    context.addIssue({ code: 'custom', message });
  }
  if (twice !== undefined) context.addIssue({ code: 'custom', message: `two keys have the name "${twice.name}"` });
  return known;
});

/** `key=value, key=value` */
const Pairs = List.transform((entries, context) => {
  for (const entry of entries.filter((pair) => !/^[^=]+=[^=]*$/.test(pair))) {
    context.addIssue({ code: 'custom', message: `must look like key=value, not "${entry}"` });
  }
  return Object.fromEntries(entries.map((entry) => entry.split('=') as [string, string]));
});

/** `key`, `key:Effect`, `key=value` or `key=value:Effect`, as kubectl writes taints. */
const Tolerations = List.transform((entries, context) =>
  entries.map((entry) => {
    const [, key, value, effect] =
      /^([^=:]+)(?:=([^=:]*))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?$/.exec(entry) ?? [];
    if (key === undefined) {
      context.addIssue({ code: 'custom', message: `must look like key=value:NoSchedule, not "${entry}"` });
    }
    return { key: key ?? '', value, effect };
  }),
);

/** Where and how sandboxes run with BESTK_SANDBOX=kubernetes. */
const KubernetesSettings = z.object({
  KUBECONFIG: z.string().min(1).optional(),
  BESTK_KUBERNETES_KUBECONFIG: z.string().min(1).optional(),
  BESTK_KUBERNETES_CONTEXT: z.string().min(1).optional(),
  BESTK_KUBERNETES_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be the name of a namespace')
    .optional(),
  BESTK_KUBERNETES_RUNTIME_CLASS: z.string().min(1).optional(),
  BESTK_KUBERNETES_NODE_SELECTOR: Pairs.default({}),
  BESTK_KUBERNETES_TOLERATIONS: Tolerations.default([]),
  BESTK_KUBERNETES_PULL_SECRETS: List.default([]),
  BESTK_KUBERNETES_PULL: z.enum(['IfNotPresent', 'Always', 'Never']).default('IfNotPresent'),
  BESTK_KUBERNETES_CPU_REQUEST: z.coerce.number().positive().optional(),
  BESTK_KUBERNETES_MEMORY_REQUEST_MB: Positive.min(16).optional(),
  BESTK_KUBERNETES_NON_ROOT: Switch,
  BESTK_KUBERNETES_SECCOMP: z
    .string()
    .regex(/^[^/]/, 'must be a path from the kubelet’s folder `seccomp`, like profiles/bestk.json')
    .optional(),
  BESTK_KUBERNETES_PENDING: Positive.max(1024).default(16),
  BESTK_KUBERNETES_START_S: Positive.max(86_400).default(600),
  BESTK_KUBERNETES_WORKER_NAME: z.string().min(1).optional(),
  BESTK_KUBERNETES_WORKER_UID: z.string().min(1).optional(),
});

/** Every setting of bestk, with its environment name. */
export const Settings = z.object({
  OPENAI_BASE_URL: Endpoint.optional(),
  OPENAI_API_KEY: z.string().min(1).optional(),
  BESTK_MODEL_URLS: ModelUrls.default({}),
  BESTK_VERIFIER_MODEL: z.string().min(1).optional(),
  BESTK_AGENT_MODEL: z.string().min(1).optional(),
  BESTK_AGENT_FORMAT: z.enum(FORMAT_NAMES).default('xml'),
  BESTK_AGENT_PROMPT: z.enum(['bestk', 'r2e']).optional(),
  BESTK_AGENT_MAX_STEPS: Positive.default(40),
  BESTK_AGENT_MAX_STEPS_ABSOLUTE: Positive.default(100),
  BESTK_AGENT_MAX_TOKENS: Positive.min(1_000).default(65_536),
  BESTK_AGENT_MAX_ANSWER_TOKENS: Positive.min(16).default(8_192),
  BESTK_AGENT_ACTION_S: Positive.default(90),
  BESTK_AGENT_MODEL_CALL_S: Positive.max(LONGEST_TIMER_S).default(7_200),
  BESTK_AGENT_TRAJECTORY_S: Positive.default(50_000),
  BESTK_AGENT_CONDENSE_AT: Positive.optional(),
  BESTK_AGENT_CHECK_EVERY: Positive.optional(),
  BESTK_AGENT_STOP_BELOW: z.coerce.number().min(0).max(1).default(0.02),
  BESTK_AGENT_SESSIONS: Positive.max(4096).default(64),
  BESTK_PROMPTS: z.string().min(1).optional(),
  BESTK_EF_METHOD: z.enum(JUDGE_METHODS).default('yes-no'),
  BESTK_EF_PROMPT: z
    .enum(YES_NO_PROMPTS.map((id) => id.slice('verifier/'.length)))
    .transform((name) => YES_NO_PROMPTS.find((id) => id === `verifier/${name}`))
    .optional(),
  BESTK_EF_SHOW: List.pipe(z.array(z.enum(SECTIONS))).default(['source', 'flags']),
  BESTK_EF_THINK: Switch,
  BESTK_EF_SUMMARIES: Switch,
  BESTK_EF_SAMPLES: Positive.max(64).default(1),
  BESTK_EF_VOTES: Positive.max(64).default(8),
  BESTK_EF_PROMPT_TOKENS: Positive.min(2_000).default(65_536),
  BESTK_EF_ANSWER_TOKENS: Positive.default(16),
  BESTK_EF_MIN_MASS: z.coerce.number().min(0).max(1).default(0.5),
  BESTK_EF_PREFILL: Switch,
  BESTK_EF_SECOND_OPINION: Switch,
  BESTK_EF_CRITERIA: z.string().min(1).optional(),
  BESTK_TEST_MODEL: z.string().min(1).optional(),
  BESTK_TEST_SAMPLES: Positive.max(64).default(3),
  BESTK_TEST_COUNT: Positive.max(32).default(4),
  BESTK_TEST_AUTHOR: z.enum(['single', 'agent']).default('single'),
  BESTK_TEST_HARVEST: z.coerce.number().int().min(0).max(32).default(0),
  BESTK_TEST_ANSWER_TOKENS: Positive.min(256).default(8_192),
  BESTK_PRICES: z.string().min(1).optional(),
  BESTK_LLM_CONCURRENCY: Positive.max(1024).default(16),
  BESTK_LLM_TIMEOUT_S: Positive.default(600),
  BESTK_SANDBOX: z.enum(['docker', 'kubernetes']).default('docker'),
  BESTK_SANDBOX_CONCURRENCY: Positive.max(4096).optional(),
  BESTK_SANDBOX_CPUS: z.coerce.number().positive().default(1),
  BESTK_SANDBOX_MEMORY_MB: Positive.min(64).default(4096),
  BESTK_SANDBOX_DISK_MB: Positive.min(64).default(4096),
  BESTK_SANDBOX_PIDS: Positive.min(16).default(512),
  BESTK_MIN_FREE_DISK_MB: z.coerce.number().int().min(0).optional(),
  BESTK_MIN_FREE_MEMORY_MB: z.coerce.number().int().min(0).optional(),
  BESTK_PULL: z.enum(['never', 'missing']).default('never'),
  BESTK_IMAGE_CACHE_GB: z.coerce.number().positive().optional(),
  DOCKER_CONFIG: z.string().min(1).optional(),
  BESTK_SANDBOX_TTL_S: Positive.min(60).default(3 * 3600),
  DOCKER_HOST: z
    .string()
    .regex(/^(unix|tcp|http|https):\/\/.+/, 'must look like unix:///var/run/docker.sock or tcp://host:2375')
    .optional(),
  ...KubernetesSettings.shape,
  DATABASE_URL: z
    .string()
    .regex(
      /^(file:.|sqlite:.|postgres(ql)?:\/\/.)/,
      'must look like file:/path/to/bestk.sqlite or postgresql://user:password@host:5432/database',
    )
    .optional(),
  BESTK_QUEUE_URL: z
    .string()
    .regex(/^rediss?:\/\/.+/, 'must look like redis://:password@host:6379')
    .optional(),
  BESTK_RETENTION_DAYS: z.coerce.number().min(1).optional(),
  BESTK_API_KEYS: ApiKeys.default([]),
  BESTK_RATE_LIMIT: z.coerce.number().positive().max(1_000_000).default(500),
  BESTK_REPLAY: z.string().min(1).optional(),
  BESTK_RECORD: z.string().min(1).optional(),
  BESTK_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  BESTK_DRAIN_S: z.coerce.number().int().min(0).max(LONGEST_TIMER_S).default(0),
  BESTK_SHUTDOWN_S: Positive.max(LONGEST_TIMER_S).default(30),
  XDG_STATE_HOME: z.string().startsWith('/').optional(),
});
export type Settings = z.infer<typeof Settings>;

/** The cluster as the settings have it; of several kubeconfigs the first counts. */
export function clusterOf(s: Settings): ClusterOptions {
  const { BESTK_KUBERNETES_WORKER_NAME: name, BESTK_KUBERNETES_WORKER_UID: uid } = s;
  return {
    kubeconfig: s.BESTK_KUBERNETES_KUBECONFIG ?? s.KUBECONFIG?.split(':')[0],
    context: s.BESTK_KUBERNETES_CONTEXT,
    namespace: s.BESTK_KUBERNETES_NAMESPACE,
    runtimeClass: s.BESTK_KUBERNETES_RUNTIME_CLASS,
    nodeSelector: s.BESTK_KUBERNETES_NODE_SELECTOR,
    tolerations: s.BESTK_KUBERNETES_TOLERATIONS,
    pullSecrets: s.BESTK_KUBERNETES_PULL_SECRETS,
    pull: s.BESTK_KUBERNETES_PULL,
    cpuRequest: s.BESTK_KUBERNETES_CPU_REQUEST,
    memoryRequestMb: s.BESTK_KUBERNETES_MEMORY_REQUEST_MB,
    nonRoot: s.BESTK_KUBERNETES_NON_ROOT,
    seccompProfile: s.BESTK_KUBERNETES_SECCOMP,
    pendingPods: s.BESTK_KUBERNETES_PENDING,
    startS: s.BESTK_KUBERNETES_START_S,
    worker: name === undefined || uid === undefined ? undefined : { name, uid },
  };
}
