// ef:agent against the time of its own model calls: looks of a fixed script in real containers of the example's image.
import { readFileSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { Worker } from 'node:worker_threads';
import Docker from 'dockerode';
import { createInspector } from '../../dist/src/agent/rollout.js';
import { AgentLimits } from '../../dist/src/core/run/agent.js';
import { Issue } from '../../dist/src/core/run/issue.js';
import { GptTokenizer, StoredLlmClient } from '../../dist/src/models/llm-clients.js';
import { OpenAiLlmClient } from '../../dist/src/models/openai/client.js';
import { MarkdownPromptLibrary } from '../../dist/src/models/prompts/prompt-library.js';
import { DockerSandbox } from '../../dist/src/sandbox/docker/sandbox.js';
import { openSqliteStore } from '../../dist/src/store/sqlite.js';
import { createAgentVerifier } from '../../dist/verifiers/execution-free/agent/agent.js';
import { JUDGE_DEFAULTS } from '../../dist/verifiers/execution-free/judge-options.js';
import { steps } from '../bench-rollouts/script.mjs';
import { readJsonl } from '../jsonl.mjs';

const IMAGE = 'bestk/example:1';
const STORE = 'bestk-out/bench-looks.sqlite';
const LIMITS = { cpus: 1, memoryMb: 1024, diskMb: 1024, pids: 256, outputBytes: 1024 * 1024 };
const VERDICT = '<reasons>It ran.</reasons>\n<steps>1</steps>\n<judgement>YES</judgement>';
const FINISH = `<function=finish>\n<parameter=command>submit</parameter>\n<parameter=result>${VERDICT}</parameter>\n</function>`;

/** Prints the wall's time of each of `k` candidates, one after the other and at once, against their model time. */
export async function looks(k, count, latencyMs) {
  const image = await new Docker()
    .getImage(IMAGE)
    .inspect()
    .catch(() => null);
  if (image === null)
    return console.log(`looks      left out: no container engine, or no ${IMAGE} (npm run quickstart)`);
  const script = [...steps(count - 1).map(({ call }) => `I go on.\n${call}`), FINISH];
  const worker = new Worker(new URL('../bench-rollouts/model-worker.mjs', import.meta.url), {
    workerData: { latencyMs, script },
  });
  const url = await new Promise((resolve) => worker.once('message', resolve));
  const issue = Issue.parse(JSON.parse(readFileSync('examples/quickstart/issue.json', 'utf8')));
  const all = readJsonl('examples/quickstart/candidates.jsonl');
  const candidates = all.slice(0, k).map((each) => ({ ...each, trajectory: null }));
  const alone = [];
  for (const candidate of candidates) alone.push(await judged(url, issue, [candidate]));
  const { seconds } = await judged(url, issue, candidates);
  await worker.terminate();
  const ideal = (count * latencyMs) / 1000;
  const mean = alone.reduce((sum, one) => sum + one.seconds, 0) / k;
  const votes = alone.map((one) => one.votes).join(', ');
  console.log(
    `looks      ${count} steps of ${latencyMs} ms (SIMULATED), votes ${votes}: ${mean.toFixed(1)} s a candidate, ${(mean / ideal).toFixed(2)} × the model time of one look, ${(mean / (2 * ideal)).toFixed(2)} × that of both; ${k} at once ${seconds.toFixed(1)} s, ${(seconds / (2 * k * ideal)).toFixed(2)} × the model time of all`,
  );
}

async function judged(baseUrl, issue, candidates) {
  rmSync(STORE, { force: true });
  const store = await openSqliteStore(STORE);
  const sandbox = new DockerSandbox({ concurrency: cpus().length, idleSessions: 64, limits: LIMITS, ttlS: 600 });
  const model = new OpenAiLlmClient({ baseUrl, concurrency: 64, timeoutS: 60, maxRetries: 2 });
  const llm = new StoredLlmClient(model, store.results, () => baseUrl);
  const tools = {
    llm,
    sandbox,
    results: store.results,
    prompts: new MarkdownPromptLibrary(),
    tokenizer: new GptTokenizer(),
  };
  const limits = AgentLimits.parse({});
  const settings = { model: 'bench', endpoint: baseUrl, format: 'xml', temperature: 1, limits };
  const inspect = createInspector(
    tools,
    () => settings,
    async () => undefined,
  );
  const verifier = createAgentVerifier(
    { ...JUDGE_DEFAULTS, ...tools, model: 'bench' },
    { inspect, system: 'agent/xml-judge', steps: 20, actionS: limits.action_s, harvested: false },
  );
  const start = performance.now();
  const verdicts = await verifier.verify({ issue, candidates, tests: [] }, new AbortController().signal);
  const seconds = (performance.now() - start) / 1000;
  await sandbox.closeAll();
  await store.close();
  return { seconds, votes: verdicts.map(({ evidence }) => evidence.votes ?? 0).join('+') };
}
