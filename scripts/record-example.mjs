// Makes examples/quickstart/recording.jsonl: runs the example against a loopback server that answers with the
// probabilities of judge.json (written by hand, not by a model), with BESTK_RECORD on. Run it after changing a prompt,
// the issue, a candidate or a trajectory: `node scripts/record-example.mjs`.
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { serveJudgements } from './e2e-real/judge-server.mjs';

const EXAMPLE = 'examples/quickstart';
const OUT = 'bestk-out/record-example';

const lines = readFileSync(`${EXAMPLE}/candidates.jsonl`, 'utf8').split('\n').filter(Boolean);
const candidates = lines.map((line) => JSON.parse(line)).filter(({ patch }) => patch !== '');
const { p_yes: probabilities } = JSON.parse(readFileSync(`${EXAMPLE}/judge.json`, 'utf8'));
const server = await serveJudgements(candidates, new Map(Object.entries(probabilities)));
rmSync(`${EXAMPLE}/recording.jsonl`, { force: true });
rmSync(OUT, { recursive: true, force: true });

const args = ['select', '--issue', `${EXAMPLE}/issue.json`, '--candidates', `${EXAMPLE}/candidates.jsonl`];
const child = spawn(process.execPath, ['dist/src/cli.js', ...args, '--verifiers', 'ef', '--out', OUT], {
  stdio: 'inherit',
  env: {
    ...process.env,
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: 'example',
    BESTK_RECORD: `${EXAMPLE}/recording.jsonl`,
    BESTK_VERIFIER_MODEL: 'bestk-example-judge',
    DATABASE_URL: `file:${OUT}/store.sqlite`,
  },
});
child.on('close', async (code) => {
  await server.close();
  process.exitCode = code ?? 1;
});
