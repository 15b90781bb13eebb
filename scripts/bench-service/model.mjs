import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** A judge that answers YES to everything, `latencyMs` later. */
export async function startModel(latencyMs) {
  let calls = 0;
  let cut = 0;
  /** When each request was last answered, by its hash, and when those were answered that were asked again. */
  const answered = new Map();
  let again = [];
  const tokens = [
    { token: '<judgement>', logprob: 0, top_logprobs: [] },
    {
      token: 'YES',
      logprob: -0.1,
      top_logprobs: [
        { token: 'YES', logprob: -0.1 },
        { token: 'NO', logprob: -2.4 },
      ],
    },
    { token: '</judgement>', logprob: 0, top_logprobs: [] },
  ];
  const answer = JSON.stringify({
    id: 'bench',
    object: 'chat.completion',
    created: 0,
    model: 'judge',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: '<judgement>YES</judgement>' },
        logprobs: { content: tokens },
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 3, total_tokens: 103 },
  });
  const server = createServer((asked, response) => {
    const hash = createHash('sha256');
    asked.on('data', (chunk) => hash.update(chunk));
    asked.on('end', () => {
      calls += 1;
      const key = hash.digest('hex');
      const before = answered.get(key);
      if (before !== undefined) again.push(before);
      response.on('finish', () => answered.set(key, performance.now()));
      response.on('close', () => (cut += response.writableFinished ? 0 : 1));
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer), latencyMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return {
    close,
    url: `http://127.0.0.1:${server.address().port}/v1`,
    calls: () => calls,
    /** Calls; when answers were sent that were asked for again, as `performance.now()`; and calls whose asker went away. */
    count: () => ({ calls, again, cut }),
    forget: () => {
      [calls, cut, again] = [0, 0, []];
      answered.clear();
    },
  };
}
