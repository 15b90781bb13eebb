import { createServer } from 'node:http';

const squeezed = (text) => text.replace(/\s+/g, '');

/**
 * A Chat Completions server on loopback that answers with saved judgements: it finds whose patch a prompt holds and
 * gives that candidate's P(YES) as log-probabilities. The judgements are a model's; the serving is simulated.
 */
export async function serveJudgements(candidates, probability) {
  const known = candidates
    .map((candidate) => ({ id: candidate.candidate_id, patch: squeezed(candidate.patch) }))
    .sort((a, b) => b.patch.length - a.patch.length);
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const prompt = squeezed(body.messages.map((message) => message.content).join('\n'));
      const match = known.find(({ patch }) => prompt.includes(patch));
      response.setHeader('content-type', 'application/json');
      if (match === undefined) {
        response.statusCode = 400;
        response.end(JSON.stringify({ error: { message: 'no saved judgement for this prompt' } }));
        return;
      }
      response.end(JSON.stringify(judgement(body.model, probability.get(match.id))));
    });
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => new Promise((done) => server.close(done)),
  };
}

/** A completion that says YES with probability `yes`, as a server with log-probabilities sends it. */
function judgement(model, yes) {
  const verdict = yes >= 0.5 ? 'YES' : 'NO';
  const certain = (token) => ({ token, logprob: 0, top_logprobs: [{ token, logprob: 0 }] });
  const both = [
    { token: 'YES', logprob: Math.log(Math.max(yes, 1e-6)) },
    { token: 'NO', logprob: Math.log(Math.max(1 - yes, 1e-6)) },
  ];
  const spoken = both.find(({ token }) => token === verdict);
  return {
    id: 'saved',
    object: 'chat.completion',
    created: 0,
    model,
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: `<judgement>${verdict}</judgement>` },
        logprobs: {
          content: [
            ...['<', 'jud', 'gement', '>'].map(certain),
            { ...spoken, top_logprobs: both },
            certain('</judgement>'),
          ],
        },
      },
    ],
    usage: { prompt_tokens: 0, completion_tokens: 6, total_tokens: 6 },
  };
}

/** A completion that says `content`; tokens are counted as a quarter of the characters. */
export function reply(model, messages, content) {
  const length = messages.reduce((sum, message) => sum + message.content.length, 0);
  const [prompt_tokens, completion_tokens] = [length, content.length].map((characters) => Math.ceil(characters / 4));
  return {
    id: 'saved',
    object: 'chat.completion',
    created: 0,
    model,
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  };
}
