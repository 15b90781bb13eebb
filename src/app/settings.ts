import { parse } from 'yaml';
import { z } from 'zod';
import { type ClusterOptions, PodTemplate } from '../sandbox/kubernetes/pod-spec.js';
import { AgentLimits, FORMAT_NAMES } from '../core/run/agent.js';
import { readApiKey, type ApiKey } from '../core/secrets.js';
import { HEAD_ROUTES } from '../ports/llm-client.js';
import { SECTIONS, YES_NO_PROMPTS } from '../../verifiers/index.js';

/** Longest delay of a timer: 2^31 - 1 ms, in seconds. */
const LONGEST_TIMER_S = 2_147_483;
const Positive = z.coerce.number().int().positive();
const List = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

const JUDGE_SWITCHES = ['think', 'summaries', 'prefill', 'patch-alone', 'second-opinion'] as const;
const CRITIC_ROUTES = HEAD_ROUTES.map((route) => `critic-${route}` as const);

/** Limits of the agent without a setting of their own. */
const FurtherLimits = AgentLimits.pick({
  max_tokens: true,
  max_answer_tokens: true,
  action_s: true,
  trajectory_s: true,
  condense_at: true,
}).strict();

/** Parses `name=number, name=number`. */
const LimitsText = List.transform((entries): z.input<typeof FurtherLimits> => {
  const pairs = entries.map((entry) => entry.split('=', 2));
  return Object.fromEntries(pairs.map(([name = '', value]) => [name.trim(), Number(value)]));
}).pipe(FurtherLimits);

/** Endpoint names appear in reports, so they must not contain a key; that belongs in OPENAI_API_KEY. */
const Endpoint = z.url({ protocol: /^https?$/ }).refine((url) => !URL.canParse(url) || isBare(new URL(url)), {
  message: 'must not contain a user or password; set OPENAI_API_KEY',
});

function isBare({ username, password }: URL): boolean {
  return username === '' && password === '';
}

/** Parses `model=url, model=url`; a model name may contain anything but `=` and commas. */
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
  // Messages are printed and the entry may be a key, so it is named by its position.
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

/** A pod as in a manifest: YAML, or JSON on one line. */
const PodText = z
  .string()
  .transform((text, context): unknown => {
    try {
      return parse(text, { maxAliasCount: 0 });
    } catch (error) {
      context.addIssue({ code: 'custom', message: `is not YAML: ${(error as Error).message}` });
      return z.NEVER;
    }
  })
  .pipe(PodTemplate);

/** Settings of sandboxes with BESTK_SANDBOX=kubernetes. */
const KubernetesSettings = z.object({
  KUBECONFIG: z.string().min(1).optional().describe('Kubeconfig files, as kubectl reads them; the first one counts.'),
  BESTK_KUBERNETES_CONTEXT: z
    .string()
    .min(1)
    .optional()
    .describe('Context in the kubeconfig. By default its current one.'),
  BESTK_KUBERNETES_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be the name of a namespace')
    .optional()
    .describe('Namespace of the pods. By default that of the context.'),
  BESTK_KUBERNETES_POD: PodText.prefault('{}').describe(
    'Added to every pod: a PodSpec’s node selector, tolerations, runtime class and the like, as YAML; see [Kubernetes](kubernetes.md#settings).',
  ),
  BESTK_KUBERNETES_WORKER: z
    .string()
    .regex(/^[^/]+\/[^/]+$/, 'must be name/uid of a pod')
    .transform((text) => ({ name: text.slice(0, text.indexOf('/')), uid: text.slice(text.indexOf('/') + 1) }))
    .optional()
    .describe(
      'The pod that bestk itself runs in, as `name/uid`; unless `KUBECONFIG` is set, pods in its own namespace are deleted with it.',
    ),
});

/** Every setting of bestk, by its environment name. */
export const Settings = z.object({
  OPENAI_BASE_URL: Endpoint.optional().describe(
    'Base URL of any server that speaks OpenAI Chat Completions. vLLM and SGLang also return the log-probabilities from which P(YES) is computed.',
  ),
  OPENAI_API_KEY: z.string().min(1).optional().describe('Key sent to that server.'),
  BESTK_MODEL_URLS: ModelUrls.default({}).describe(
    'Base URLs of models on other servers: `verifier=http://localhost:8001/v1,…`.',
  ),
  BESTK_VERIFIER_MODEL: z
    .string()
    .min(1)
    .optional()
    .describe('Model of the execution-free verifier. Without it, candidates are verified by execution only.'),
  BESTK_AGENT_MODEL: z.string().min(1).optional().describe('Model of the sampling agent.'),
  BESTK_AGENT_FORMAT: z
    .enum(FORMAT_NAMES)
    .default('xml')
    .describe('How the agent writes its calls: `xml` tags in text, `tools` of the API, or one `bash` block.'),
  BESTK_AGENT_PROMPT: z
    .enum(['bestk', 'r2e'])
    .optional()
    .describe('Prompt of the agent, `bestk` or `r2e`. By default the model name decides.'),
  BESTK_AGENT_MAX_STEPS: Positive.default(40).describe('Steps after which the agent is told to submit.'),
  BESTK_AGENT_MAX_STEPS_ABSOLUTE: Positive.default(100).describe('Steps after which a rollout ends.'),
  BESTK_AGENT_LIMITS: LimitsText.prefault('').describe(
    'Its other limits, as `max_tokens=65536,action_s=120`: `max_tokens` (65536), the length of prompt and answer at which a rollout ends; `max_answer_tokens` (8192); `action_s` (90) of one command; `trajectory_s` (50000) of a rollout; `condense_at` (never), the prompt length in tokens above which old observations are dropped.',
  ),
  BESTK_AGENT_CHECK_EVERY: Positive.optional().describe(
    'Every so many steps, ask the judge whether the rollout can still succeed. By default never.',
  ),
  BESTK_AGENT_SESSIONS: Positive.max(4096)
    .default(64)
    .describe('Maximum number of agents that hold a container at once.'),
  BESTK_PROMPTS: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of prompts and criteria that replace the bundled ones by id; see `bestk prompts`.'),
  BESTK_EF_PROMPT: z
    .enum(YES_NO_PROMPTS.map((id) => id.slice('verifier/'.length)))
    .transform((name) => YES_NO_PROMPTS.find((id) => id === `verifier/${name}`))
    .optional()
    .describe('Prompt of the yes-no judge. By default the model name decides.'),
  BESTK_EF_SHOW: List.pipe(z.array(z.enum(SECTIONS)))
    .default(['source', 'flags'])
    .describe('Sections shown to the judge next to the patch, comma-separated.'),
  BESTK_EF_OPTIONS: List.pipe(z.array(z.enum([...JUDGE_SWITCHES, ...CRITIC_ROUTES])))
    .refine((words) => new Set(words.filter((word) => word.startsWith('critic-'))).size <= 1, {
      message: 'may contain only one critic-… route',
    })
    .default([])
    .describe(
      'Of `think` (reason before answering), `summaries` (`ef:pairs` and tournaments compare summaries), `prefill` (begin the answer for the judge), `patch-alone` (show no trajectory), `second-opinion` (ask again without the agent’s thoughts) and the server route of `ef:critic` (`critic-classify`, the default, `critic-pooling` or `critic-score` of vLLM, `critic-sglang`), comma-separated; see [judging](judging.md).',
    ),
  BESTK_EF_SAMPLES: Positive.max(64)
    .optional()
    .describe(
      'Answers per question. By default 1; 8 yes/no votes if the server returns no log-probabilities; 3 looks by `ef:agent`.',
    ),
  BESTK_EF_PROMPT_TOKENS: Positive.min(4_000)
    .default(65_536)
    .describe('Longest prompt of the judge, in tokens; trajectories are condensed to fit.'),
  BESTK_TEST_MODEL: z
    .string()
    .min(1)
    .optional()
    .describe('Model that writes tests. Without it, no tests are generated.'),
  BESTK_TEST_SAMPLES: Positive.max(64).default(3).describe('Answers sampled from the test writer.'),
  BESTK_TEST_COUNT: Positive.max(32).default(4).describe('Test scripts asked for in each answer.'),
  BESTK_TEST_HOLDING: z.coerce
    .number()
    .int()
    .min(0)
    .max(64)
    .default(0)
    .describe('Answers sampled for tests of existing behaviour that must keep working.'),
  BESTK_TEST_AUTHOR: z
    .enum(['single', 'agent'])
    .default('single')
    .describe('`single`: one prompt; `agent`: an agent with tools in a container.'),
  BESTK_TEST_OBSERVE: z.coerce
    .number()
    .int()
    .min(0)
    .max(8)
    .default(0)
    .describe('Maximum rounds of inputs on which the candidates behave differently.'),
  BESTK_TEST_HARVEST: z.coerce
    .number()
    .int()
    .min(0)
    .max(32)
    .default(0)
    .describe("Test scripts taken from each candidate's own trajectory."),
  BESTK_REGRESSION_S: Positive.max(86_400)
    .default(120)
    .describe('Time budget on base, in seconds, for the existing tests that bestk chooses if the issue names none.'),
  BESTK_VERIFIERS: List.default([]).describe(
    'Modules with verifiers of your own, comma-separated, e.g. `examples/verifier/public-api.mjs`; see [judging](judging.md#a-verifier-of-your-own).',
  ),
  BESTK_PRICES: z.string().min(1).optional().describe('File with prices per model, for budgets and costs in money.'),
  BESTK_LLM_CONCURRENCY: Positive.max(1024).default(16).describe('Maximum number of concurrent model calls.'),
  BESTK_LLM_TIMEOUT_S: Positive.default(600).describe('Time limit of one attempt of a model call, in seconds.'),
  BESTK_SANDBOX: z
    .enum(['docker', 'kubernetes'])
    .default('docker')
    .describe('Where containers run: `docker` or `kubernetes`.'),
  BESTK_SANDBOX_CONCURRENCY: Positive.max(4096)
    .optional()
    .describe('Maximum number of containers that compute at once. By default the number of cores, on Kubernetes 512.'),
  BESTK_SANDBOX_CPUS: z.coerce.number().positive().default(1).describe('CPUs per container.'),
  BESTK_SANDBOX_MEMORY_MB: Positive.min(64).default(4096).describe('Memory per container, in MiB.'),
  BESTK_SANDBOX_DISK_MB: Positive.min(64).default(4096).describe('Disk per container, in MiB.'),
  BESTK_MIN_FREE_DISK_MB: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Free disk below which new work waits, in MiB. By default 1,024, at most a tenth of the disk.'),
  BESTK_PULL: z.enum(['never', 'missing']).default('never').describe('`missing` pulls images that the engine lacks.'),
  BESTK_IMAGE_CACHE_GB: z.coerce
    .number()
    .positive()
    .optional()
    .describe('Size limit of pulled images, in GB; the least recently used are removed first. By default none.'),
  DOCKER_CONFIG: z.string().min(1).optional().describe("Folder with Docker's logins. By default `~/.docker`."),
  BESTK_SANDBOX_TTL_S: Positive.min(60)
    .default(3 * 3600)
    .describe(
      'Age at which an abandoned container ends by itself, in seconds; more if the time limit of its tests requires it.',
    ),
  DOCKER_HOST: z
    .string()
    .regex(/^(unix|tcp|http|https):\/\/.+/, 'must look like unix:///var/run/docker.sock or tcp://host:2375')
    .optional()
    .describe('Docker engine: `unix:///…` or `tcp://host:port`. By default the local socket.'),
  ...KubernetesSettings.shape,
  DATABASE_URL: z
    .string()
    .regex(
      /^(file:.|sqlite:.|postgres(ql)?:\/\/.)/,
      'must look like file:/path/to/bestk.sqlite or postgresql://user:password@host:5432/database',
    )
    .optional()
    .describe('`file:/path/store.sqlite` or `postgresql://…`. By default `$XDG_STATE_HOME/bestk/store.sqlite`.'),
  BESTK_QUEUE_URL: z
    .string()
    .regex(
      /^(rediss?|postgres(ql)?):\/\/.+/,
      'must look like redis://:password@host:6379 or postgresql://user:password@host:5432/database',
    )
    .optional()
    .describe('Queue for several machines: `redis://…`, or `postgresql://…`. By default that of `DATABASE_URL`.'),
  BESTK_RETENTION_DAYS: z.coerce
    .number()
    .min(1)
    .optional()
    .describe('Days to keep ended runs, benchmarks, reports and the audit log. By default they are kept forever.'),
  BESTK_API_KEYS: ApiKeys.default([]).describe(
    'API keys, comma-separated; see [keys](http.md#keys). Required unless the service listens on loopback only.',
  ),
  BESTK_REPLAY: z.string().min(1).optional().describe('Recording from which model calls are answered.'),
  BESTK_RECORD: z.string().min(1).optional().describe('File to record model calls to.'),
  BESTK_LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Log level.'),
  BESTK_DRAIN_S: z.coerce
    .number()
    .int()
    .min(0)
    .max(LONGEST_TIMER_S)
    .default(0)
    .describe('Time to let runs finish before the service stops, in seconds.'),
  BESTK_SHUTDOWN_S: Positive.max(LONGEST_TIMER_S)
    .default(30)
    .describe('Time limit for stopping after that, in seconds.'),
  XDG_STATE_HOME: z
    .string()
    .startsWith('/')
    .optional()
    .describe('Folder of the default store. By default `~/.local/state`.'),
});
export type Settings = z.infer<typeof Settings>;

/** Cluster options from the settings; the first of several kubeconfigs is used. */
export function clusterOf(s: Settings): ClusterOptions {
  return {
    kubeconfig: s.KUBECONFIG?.split(':')[0],
    context: s.BESTK_KUBERNETES_CONTEXT,
    namespace: s.BESTK_KUBERNETES_NAMESPACE,
    pod: s.BESTK_KUBERNETES_POD,
    worker: s.BESTK_KUBERNETES_WORKER,
  };
}
