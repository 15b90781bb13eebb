import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';
import { FIXTURES } from '../io/saved-runs/saved-fixtures.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { gradedBenchmark } from '../../fixtures/graded-benchmark.js';
import { givenRequest, PATCH, rankedResult } from '../../fixtures/runs.js';
import { viewedRun } from '../../fixtures/viewed-runs.js';
import { serveRuns, type TestServer } from './http-world.js';

const KEY = 's3cret-key-of-the-examples';
const shell = promisify(execFile);

const folder = mkdtempSync(join(tmpdir(), 'bestk-examples-'));
let store: OpenStore;
let server: TestServer;
/** By the name of the call, as the page has them. */
let examples: ReadonlyMap<string, string>;

beforeAll(async () => {
  store = await openSqliteStore(join(folder, 'store.sqlite'));
  const executor = new ScriptedExecutor(async (run, _emit, signal): Promise<RunResult> => {
    const { issue } = RunRequest.parse(run.request);
    if (issue.instance_id === 'long__1') {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    }
    return rankedResult(run);
  });
  server = await serveRuns(store.runs, executor, { apiKeys: [KEY], benchmarks: store.benchmarks });
  const html = await (await fetch(`${server.url}/docs`, { headers: { 'x-api-key': KEY } })).text();
  const found = html.matchAll(/aria-label="Example: (\w+)">([^<]*)</g);
  const plain = (text: string): string =>
    text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  examples = new Map([...found].map(([, name = '', text = '']) => [name, plain(text)]));
});
afterAll(async () => {
  await server.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const lines = (...values: readonly unknown[]): string => values.map((each) => `${JSON.stringify(each)}\n`).join('');

/** Runs an example as it stands, in a folder with its body; the status is asked for beside it. */
async function tried(name: string, ids: Readonly<Record<string, string>> = {}, body = ''): Promise<string> {
  for (const file of ['request.json', 'lines.jsonl']) writeFileSync(join(folder, file), body);
  const env = { PATH: process.env.PATH, BESTK: server.url, BESTK_API_KEY: KEY, ...ids };
  const example = `${examples.get(name) ?? 'no example'} -o answer -w '%{http_code}'`;
  const { stdout } = await shell('/bin/sh', ['-c', example], { cwd: folder, env, timeout: 60_000 });
  seen.add(name);
  return stdout;
}
const seen = new Set<string>();

// A bare Debian has no curl.
const withCurl = spawnSync('curl', ['--version']).status === 0 ? describe : describe.skip;

withCurl('the examples of the page of calls', () => {
  /** Calls by the status they are to be answered with, all with the same ids and body. */
  async function answered(status: string, names: readonly string[], ids = {}, body = ''): Promise<void> {
    for (const name of names) expect([name, await tried(name, ids, body)]).toEqual([name, status]);
  }
  const answer = (): { id: string } => JSON.parse(readFileSync(join(folder, 'answer'), 'utf8')) as { id: string };

  it('are answered as they stand, each of them', async () => {
    const viewed = viewedRun({ candidates: 2, steps: 2, tests: 2 });
    const { run } = await store.runs.create('a run', viewed.request);
    await store.runs.update(run.id, { status: 'done', result: viewed.result });
    const names = { CANDIDATE_ID: 'rollout-1', TEST_ID: 't1' };
    const ofRuns = [
      'getRun',
      'followRun',
      'getPatch',
      'getCandidate',
      'getEvidence',
      'getLabels',
      'getCells',
      'getTest',
    ];
    const more = [
      'getSteps',
      'getCandidatePatch',
      'getJudgePrompt',
      'getChoices',
      'listRuns',
      'listReports',
      'listAudit',
    ];
    await answered('200', [...ofRuns, ...more], { ID: run.id, ...names });
    await answered('200', ['live', 'ready', 'metrics', 'openApi', 'docs']);

    const { issue } = givenRequest();
    const message = (text: string) => ({ output: [{ type: 'message', content: [{ type: 'output_text', text }] }] });
    const said = `I changed the sign.\n\n\`\`\`diff\n${PATCH}\`\`\`\n`;
    await answered('200', ['estimateRun'], {}, JSON.stringify(givenRequest()));
    await answered('200', ['reward'], {}, JSON.stringify(givenRequest()));
    const row = { responses_create_params: { input: 'Fix it' }, response: message(said), verifier_metadata: { issue } };
    await answered('200', ['seedSession', 'verify'], {}, JSON.stringify(row));
    const pair = { conversation_history: [{ role: 'user', content: 'Fix it' }], principle: JSON.stringify(issue) };
    await answered('200', ['compare'], {}, JSON.stringify({ ...pair, response_objs: [message(said), message('no')] }));

    const labels = lines(
      { run_id: run.id },
      { instance_id: 'demo__issue-1', candidate_id: 'rollout-1', resolved: true },
    );
    await answered('201', ['makeReport'], {}, labels);
    await answered('200', ['getReport'], { ID: answer().id });
    await answered('202', ['rescore'], {}, lines(FIXTURES['r2e-gym']?.content));
    await answered('202', ['rescoreRun'], { ID: run.id }, '{}');
    await answered('202', ['submitRun'], {}, JSON.stringify(givenRequest('long__1')));
    await answered('202', ['cancelRun'], { ID: answer().id });
    await answered('204', ['deleteRun'], { ID: run.id });
  });

  it('of benchmarks too', async () => {
    const reading = ['getBenchmark', 'listBenchmarkRuns', 'getBenchmarkCurves', 'getBenchmarkPlots', 'followBenchmark'];
    const more = ['getBenchmarkReport', 'getBenchmarkPredictions', 'listBenchmarks'];
    const ID = await gradedBenchmark(store, { title: 'Ended', arms: { mine: { 'o__r-1': true } } });
    await answered('200', [...reading, ...more], { ID });
    await answered('204', ['deleteBenchmark'], { ID });
    const row = { instance_id: 'long__1', problem_statement: 'x', environment: { image: 'x:1' } };
    await answered('202', ['submitBenchmark'], {}, lines({ arms: [{ name: 'mine', k: 2 }] }, row));
    await answered('202', ['pauseBenchmark', 'resumeBenchmark', 'cancelBenchmark'], { ID: answer().id });
  });

  it('are all tried here', () => {
    expect([...examples.keys()].filter((name) => !seen.has(name))).toEqual([]);
    expect(examples.size).toBeGreaterThan(40);
  });
});
