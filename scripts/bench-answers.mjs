// What hostile answers of model servers cost the process that receives them: `npm run bench:answers`. Each has up to 64 MiB
// and is asked for with few tokens, with many, and with the most log-probabilities that a judge asks for, whose honest answer is
// nearly as large.
// Prints seconds, the longest turn of the event loop, and memory. `--json`: one document, without the table.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const { HOSTILE_ANSWERS, hostileServer } = await import('../test/fixtures/hostile-answers.js');
const { OpenAiLlmClient } = await import('../src/models/openai/client.js');

const REQUESTS = [
  ['few tokens', { maxTokens: 16 }],
  ['a long answer', { maxTokens: 131_072 }],
  ['all log-probabilities', { maxTokens: 16_384, topLogprobs: 20 }],
];
const AT_ONCE = Number(process.env.ANSWERS_AT_ONCE ?? 1);
const SERVE = 'serve';

if (process.argv.includes(SERVE)) {
  const server = hostileServer().listen(0, '127.0.0.1', () => process.send(server.address().port));
} else await measure(process.argv.includes('--json'));

async function measure(asJson) {
  const server = fork(fileURLToPath(import.meta.url), [SERVE], { execArgv: process.execArgv });
  const [port] = await once(server, 'message');
  const rows = [];
  for (const [asked, request] of REQUESTS) {
    for (const index of HOSTILE_ANSWERS.keys()) rows.push({ asked, ...(await one(port, index, request)) });
  }
  server.kill();
  const rss_mb = Math.round(process.resourceUsage().maxRSS / 1024);
  if (asJson) console.log(JSON.stringify({ rss_mb, rows }));
  else {
    console.table(rows);
    const worst = Math.max(...rows.map(({ turn_ms }) => turn_ms));
    console.log(`at most ${rss_mb} MB resident; longest turn ${worst} ms`);
  }
}

async function one(port, index, request) {
  const baseUrl = `http://127.0.0.1:${port}/${index}/v1`;
  const client = new OpenAiLlmClient({ baseUrl, concurrency: AT_ONCE, timeoutS: 600, maxRetries: 0 });
  const call = { model: 'm', messages: [{ role: 'user', content: 'x' }], temperature: 0, sample: 0, purpose: 'judge' };
  const turns = watchTurns();
  const start = performance.now();
  const said = await Promise.all(
    Array.from({ length: AT_ONCE }, () =>
      client.complete({ ...call, ...request }, new AbortController().signal).then(
        ({ text }) => `answer of ${text.length} characters`,
        ({ message }) => message.replace(/^.*? said: /, '').slice(0, 60),
      ),
    ),
  );
  const s = Number(((performance.now() - start) / 1000).toFixed(2));
  const rss = Math.round(process.memoryUsage().rss / 2 ** 20);
  return { answer: HOSTILE_ANSWERS[index].name, s, ...turns.stop(), rss_mb: rss, said: said[0] };
}

/** The longest turn of the event loop, by the clock and by the processor time of all threads (on a busy machine, less). */
function watchTurns() {
  let [turn_ms, turn_cpu_ms, running] = [0, 0, true];
  let [last, cpu] = [performance.now(), process.cpuUsage()];
  const turn = () => {
    const used = process.cpuUsage(cpu);
    turn_ms = Math.max(turn_ms, performance.now() - last);
    turn_cpu_ms = Math.max(turn_cpu_ms, (used.user + used.system) / 1000);
    [last, cpu] = [performance.now(), process.cpuUsage()];
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    stop() {
      running = false;
      turn();
      return { turn_ms: Math.round(turn_ms), turn_cpu_ms: Math.round(turn_cpu_ms) };
    },
  };
}
