import { once } from 'node:events';
import { createServer } from 'node:http';

/** A judge that answers YES to everything, `latencyMs` later. */
export async function startModel(latencyMs) {
  let calls = 0;
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
    asked.resume().on('end', () => {
      calls += 1;
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer), latencyMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { close, url: `http://127.0.0.1:${server.address().port}/v1`, calls: () => calls };
}
