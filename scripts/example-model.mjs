// The models of examples/quickstart, served on loopback: the answers of rollouts/*.md to an agent, in turn, and the
// probabilities of judge.json to a judge. Both were written by hand, not by a model; the serving is simulated.
import { createServer } from 'node:http';
import { readdirSync, readFileSync } from 'node:fs';
import { judgement, reply } from './e2e-real/judge-server.mjs';

const EXAMPLE = new URL('../examples/quickstart/', import.meta.url);
const squeezed = (text) => text.replace(/\s+/g, '');

/** @returns {Promise<{url: string, calls: number, close: () => Promise<void>}>} */
export async function serveExample() {
  const scripts = readdirSync(new URL('rollouts/', EXAMPLE))
    .sort()
    .map((file) =>
      readFileSync(new URL(`rollouts/${file}`, EXAMPLE), 'utf8')
        .split(/\n=====\n/)
        .map((text) => text.trim()),
    );
  const { candidates, rollouts } = JSON.parse(readFileSync(new URL('judge.json', EXAMPLE), 'utf8')).p_yes;
  const known = readFileSync(new URL('candidates.jsonl', EXAMPLE), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter(({ patch }) => patch !== '');
  const state = { calls: 0, started: 0 };

  const act = (messages) => {
    const said = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
    if (said.length === 0) return scripts[state.started++ % scripts.length][0];
    const script = scripts.find(([first]) => first === said[0]) ?? [];
    return script[said.length];
  };
  const judge = (messages) => {
    const prompt = squeezed(messages.map(({ content }) => content).join('\n'));
    const rollout = scripts.findIndex(([first]) => prompt.includes(squeezed(first.split('\n')[0])));
    if (rollout !== -1) return rollouts[`rollout-${rollout + 1}`];
    const longest = known
      .filter(({ patch }) => prompt.includes(squeezed(patch)))
      .sort((a, b) => b.patch.length - a.patch.length);
    return candidates[longest[0]?.candidate_id];
  };

  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      state.calls += 1;
      const { model, messages } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const isJudge = model.endsWith('judge');
      const answer = isJudge ? judge(messages) : act(messages);
      response.setHeader('content-type', 'application/json');
      if (answer === undefined) response.statusCode = 400;
      const body = answer === undefined ? { error: { message: 'the example has no answer to this' } } : null;
      response.end(JSON.stringify(body ?? (isJudge ? judgement(model, answer) : reply(model, messages, answer))));
    });
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    get calls() {
      return state.calls;
    },
    close: () => new Promise((done) => server.close(done)),
  };
}
