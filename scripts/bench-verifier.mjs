// The execution-free verifier's own costs: `npm run bench:verifier`. The judge is simulated (constant latency, one answer).
//   rendering  trajectory text to a prompt of 65,536 tokens, in MB of trajectory a second
//   verdicts   1,000 yes-no verdicts, 50 ms each, 32 at once, against the ideal
//   cache      input tokens that a server with a prefix cache computes for a rubric, against the naive order of calls
//   looks      ef:agent in containers of the example's image, against the time of its own model calls
//   order      patches picked by simulated judges, each call of which is right with the same probability
import { loadavg } from 'node:os';
import { Worker } from 'node:worker_threads';
import { GptTokenizer } from '../dist/src/models/llm-clients.js';
import { MarkdownPromptLibrary } from '../dist/src/models/prompts/prompt-library.js';
import { OpenAiLlmClient } from '../dist/src/models/openai/client.js';
import { fitAttempt } from '../dist/verifiers/execution-free/render/render-attempt.js';
import { JUDGE_DEFAULTS } from '../dist/verifiers/execution-free/judge-options.js';
import { createAgentVerifier } from '../dist/verifiers/execution-free/agent/agent.js';
import { createPairsVerifier } from '../dist/verifiers/execution-free/pairs/pairwise.js';
import { createRubricVerifier } from '../dist/verifiers/execution-free/pointwise/rubric.js';
import { createYesNoVerifier } from '../dist/verifiers/execution-free/pointwise/yes-no.js';
import { looks } from './bench-verifier/looks.mjs';

const tokenizer = new GptTokenizer();
const prompts = new MarkdownPromptLibrary();
const { signal } = new AbortController();
const environment = { workdir: '/testbed' };
const issue = { instance_id: 'bench', problem_statement: 'Something is wrong. '.repeat(50), environment };

console.log(`load ${loadavg()[0].toFixed(2)} before`);
await rendering(200, 5_000);
await rendering(40, 500_000);
await verdicts(1_000, 50, 32);
await cache(8, 2);
await looks(2, 8, 1_500);
await order(200, 0.65);
process.exit(0);

/** A candidate whose trajectory has `steps` observations of `length` characters of test output and code. */
function candidateOf(id, steps, length) {
  const line = (n) => `tests/test_${id}_${n}.py::test_case_${n * 7} PASSED [ ${n % 100}%] in ${n}.${id}s\n`;
  const observation = (n) => {
    let text = '';
    for (let i = 0; text.length < length; i += 1) text += line(n * 1_000 + i);
    return text;
  };
  const step = (n) => ({
    thought: `I look at part ${n} of try ${id}.`,
    action: `run ${n}`,
    observation: observation(n),
  });
  const patch = `diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+${id}\n`;
  const trajectory = { steps: Array.from({ length: steps }, (_, n) => step(n)), exit_reason: 'agent' };
  return { instance_id: 'bench', candidate_id: `c${id}`, patch, trajectory };
}

async function rendering(steps, length) {
  const { patch, trajectory } = candidateOf(1, steps, length);
  const attempt = { issue: issue.problem_statement, steps: trajectory.steps, patch };
  const bytes = trajectory.steps.reduce((sum, { observation }) => sum + observation.length, 0);
  await fitAttempt(attempt, tokenizer, 65_536);
  const start = performance.now();
  const times = 5;
  for (let i = 0; i < times; i += 1) await fitAttempt(attempt, tokenizer, 65_536);
  const seconds = (performance.now() - start) / 1000 / times;
  console.log(
    `rendering  ${steps} steps, ${(bytes / 1e6).toFixed(1)} MB: ${(bytes / 1e6 / seconds).toFixed(0)} MB/s (${(seconds * 1000).toFixed(0)} ms)`,
  );
}

async function serve(latencyMs, cache) {
  const worker = new Worker(new URL('bench-verifier/cache-server.mjs', import.meta.url), {
    workerData: { latencyMs, cache },
  });
  const baseUrl = await new Promise((resolve) => worker.once('message', resolve));
  return { worker, baseUrl };
}

function options(baseUrl, concurrency, more = {}) {
  const llm = new OpenAiLlmClient({ baseUrl, concurrency, timeoutS: 60, maxRetries: 0 });
  return { ...JUDGE_DEFAULTS, prompts, tokenizer, model: 'judge', llm, ...more };
}

async function verdicts(count, latencyMs, concurrency) {
  const { worker, baseUrl } = await serve(latencyMs, false);
  const verifier = createYesNoVerifier(options(baseUrl, concurrency));
  const candidates = Array.from({ length: count }, (_, n) => candidateOf(n, 4, 1_000));
  await verifier.verify({ issue, candidates: candidates.slice(0, concurrency), tests: [] }, signal);
  const start = performance.now();
  const made = await verifier.verify({ issue, candidates, tests: [] }, signal);
  const seconds = (performance.now() - start) / 1000;
  const ideal = (Math.ceil(count / concurrency) * latencyMs) / 1000;
  const scored = made.filter(({ kind }) => kind === 'scored').length;
  console.log(
    `verdicts   ${scored} of ${count} in ${seconds.toFixed(2)} s, ${(seconds / ideal).toFixed(2)} × ideal (${ideal.toFixed(2)} s)`,
  );
  await worker.terminate();
}

async function cache(k, samples) {
  const candidates = Array.from({ length: k }, (_, n) => candidateOf(n, 20, 2_000));
  const criteria = await prompts.criteria();
  const ours = await counted(50, async (llm, baseUrl) => {
    const verifier = createRubricVerifier({ ...options(baseUrl, 32, { samples }), llm });
    await verifier.verify({ issue, candidates, tests: [] }, signal);
  });
  // As scripts do it: what is asked for comes first, then the data; every call at once, criterion by criterion.
  const naive = await counted(50, async (llm) => {
    const calls = criteria.flatMap(({ text }) =>
      candidates.flatMap((candidate) =>
        Array.from({ length: samples }, async (_, sample) => {
          const attempt = { issue: issue.problem_statement, steps: candidate.trajectory.steps, patch: candidate.patch };
          const { steps, patch } = await fitAttempt(attempt, tokenizer, 65_536);
          const content = `${text}\n\nAnswer with <score>, a letter, </score>.\n\n${attempt.issue}\n${steps}\n${patch}`;
          const messages = [{ role: 'user', content }];
          return llm.complete(
            { model: 'judge', messages, temperature: 1, maxTokens: 16, sample, purpose: 'judge' },
            signal,
          );
        }),
      ),
    );
    await Promise.all(calls);
  });
  console.log(
    `cache      K = ${k}, ${criteria.length} criteria, ${samples} repeats: ${ours.calls} and ${naive.calls} calls, ${ours.fresh} uncached input tokens against ${naive.fresh}: ${(naive.fresh / ours.fresh).toFixed(1)} × fewer`,
  );
}

/** Uncached input tokens, as the server counts them. */
async function counted(latencyMs, work) {
  const { worker, baseUrl } = await serve(latencyMs, true);
  const inner = new OpenAiLlmClient({ baseUrl, concurrency: 32, timeoutS: 60, maxRetries: 0 });
  const sum = { calls: 0, fresh: 0 };
  const llm = {
    complete: async (request, abort) => {
      const completion = await inner.complete(request, abort);
      sum.calls += 1;
      sum.fresh += completion.usage.input_tokens - completion.usage.cached_input_tokens;
      return completion;
    },
  };
  await work(llm, baseUrl);
  await worker.terminate();
  return sum;
}

/** Of pools of eight patches, three right, how often a simulated judge prefers a right one; ties count by their share. */
async function order(pools, accuracy) {
  const draw = randomFrom(1);
  const isRight = () => draw() < accuracy;
  const text = (words) => ({ text: words, reasoning: '', tool_calls: [], logprobs: null, usage: null, model: 'judge' });
  const rightIn = (shown) => /^\+right/m.test(shown);
  const llm = {
    complete: async ({ messages }) => {
      const shown = messages.at(-1).content;
      const [, first, second] = /(=== ATTEMPT A[^]*)(=== ATTEMPT B[^]*)/.exec(shown) ?? [];
      if (first === undefined) return text(`<judgement>${rightIn(shown) === isRight() ? 'YES' : 'NO'}</judgement>`);
      const [a, b] = [rightIn(first), rightIn(second)];
      const saysA = a === b ? draw() < 0.5 : a === isRight();
      return text(`<better>${saysA ? 'A' : 'B'}</better>`);
    },
  };
  const inspect = async (_issue, { patch }) => {
    const action = `<judgement>${rightIn(patch) === isRight() ? 'YES' : 'NO'}</judgement>`;
    const steps = [{ thought: '', action, observation: '', exit_code: null }];
    return { exit_reason: 'agent', patch_problem: null, steps };
  };
  const agent = { inspect, steps: 20, actionS: 90, harvested: false };
  const asked = { ...options('http://127.0.0.1:9/v1', 1, { llm, samples: 1 }), measure: JUDGE_DEFAULTS.measure };
  const judges = {
    'yes-no, one call': createYesNoVerifier(asked),
    'agent, up to 3 looks': createAgentVerifier({ ...asked, samples: 3 }, agent),
    'pairs, both orders': createPairsVerifier(asked),
  };
  const picked = Object.fromEntries(Object.keys(judges).map((name) => [name, 0]));
  for (let pool = 0; pool < pools; pool += 1) {
    const names = Array.from({ length: 8 }, (_, n) => `${n < 3 ? 'right' : 'wrong'}-${pool}-${n}`);
    const candidates = names.map((name) => ({ ...candidateOf(name, 0, 0), trajectory: null }));
    for (const [name, judge] of Object.entries(judges)) {
      const verdicts = await judge.verify({ issue, candidates, tests: [] }, signal);
      const best = Math.max(...verdicts.map(({ score = 0 }) => Math.round(score * 1e6)));
      const leading = verdicts.filter(({ score = 0 }) => Math.round(score * 1e6) === best);
      const right = leading.filter(({ candidate_id: id }) => id.startsWith('cright'));
      picked[name] += right.length / leading.length;
    }
  }
  const figures = Object.entries(picked).map(([name, sum]) => `${name} ${(sum / pools).toFixed(3)}`);
  console.log(
    `order      SIMULATED, each call right with ${accuracy}, ${pools} pools, chance .375: ${figures.join('; ')}`,
  );
}

/** Numbers in [0, 1), the same in every run (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
