import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import SqliteDriver from 'better-sqlite3';
import { exampleEnvironment } from '../../../scripts/example-environment.mjs';
import { ModelServer } from '../../fakes/model-server.js';
import { CommandLine, ended } from '../../fixtures/command-line.js';
import { exampleModel } from '../../fixtures/example-model.js';
import { Service } from '../../fixtures/service.js';

const root = join(import.meta.dirname, '../../..');
const EXAMPLE = join(root, 'examples/quickstart');
/** Where Debian puts it: it has setuptools, which builds the package. */
const PYTHON = '/usr/bin/python3';
const PAGES = ['clients/python/README.md', 'docs/plugins.md'];

interface Snippet {
  readonly name: string;
  readonly language: 'python' | 'sh';
  readonly text: string;
}

function snippetsOf(page: string): Snippet[] {
  const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^#+ ([^\n]*)|^```(python|sh)\n(.*?)^```/gms)];
  let title = '';
  return blocks.flatMap(([, section, language, text]) => {
    title = section ?? title;
    return text === undefined ? [] : [{ name: `${page}: ${title}`, language: language as Snippet['language'], text }];
  });
}

let models: ModelServer;
let cli: CommandLine;
let service: Service;
/** Where the snippets run: the examples as a clone has them, and what they write. */
let folder: string;
let settings: Record<string, string>;
let environment: Record<string, string>;

beforeAll(async () => {
  models = await ModelServer.start(exampleModel(EXAMPLE), ['bestk-example-judge']);
  folder = mkdtempSync(join(tmpdir(), 'bestk-plugins-'));
  cpSync(EXAMPLE, join(folder, 'examples/quickstart'), { recursive: true });
  // Each program has a store of its own.
  const example = Object.entries(exampleEnvironment(folder)).filter(([name]) => name !== 'DATABASE_URL');
  settings = { ...Object.fromEntries(example), OPENAI_BASE_URL: models.baseUrl, OPENAI_API_KEY: 'none' };
  cli = new CommandLine(settings);
  service = await Service.start(cli);
  mkdirSync(join(folder, 'bin'));
  const program = join(folder, 'bin/bestk');
  writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${root}/dist/src/cli.js "$@"\n`);
  chmodSync(program, 0o755);
  writeFileSync(join(folder, 'bin/python3'), `#!/bin/sh\nexec ${PYTHON} "$@"\n`);
  chmodSync(join(folder, 'bin/python3'), 0o755);
  environment = {
    ...settings,
    HOME: folder,
    PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}`,
    PYTHONPATH: `${installed(folder)}:${join(root, 'test/fixtures/frameworks')}`,
    BESTK_URL: service.url,
    ...(process.env.DOCKER_HOST === undefined ? {} : { DOCKER_HOST: process.env.DOCKER_HOST }),
  };
}, 120_000);
afterAll(async () => {
  await service.stop();
  await models.close();
  rmSync(folder, { recursive: true });
});

/** Builds wheel and sdist as a build front end does, and unpacks the wheel: it is pure Python. */
function installed(into: string): string {
  const source = join(into, 'package');
  cpSync(join(root, 'clients/python'), source, { recursive: true, filter: (path) => !path.includes('__pycache__') });
  const build = `from setuptools import build_meta as b; b.build_wheel("dist"); b.build_sdist("dist")`;
  expect(python(['-c', build], source)).toMatchObject({ status: 0 });
  const built = readdirSync(join(source, 'dist')).sort();
  expect(built).toEqual(['bestk-0.1.0-py3-none-any.whl', 'bestk-0.1.0.tar.gz']);
  const library = join(into, 'library');
  expect(python(['-m', 'zipfile', '-e', join(source, 'dist', built[0] ?? ''), library], into)).toMatchObject({
    status: 0,
  });
  return library;
}

function python(args: readonly string[], cwd: string): { status: number | null; said: string } {
  const { status, stderr } = spawnSync(PYTHON, args, { cwd, encoding: 'utf8' });
  return { status, said: status === 0 ? '' : stderr };
}

/** Answers of the blocks that a reader is to see, by the name of the section. */
const SAYS: Readonly<Record<string, RegExp>> = {
  'bestk for Python': /^c1 0\.\d+\ndiff --git a\/intervals/,
  'Without a service': /^0\.\d+ hybrid \{'prior'/,
  'Progress, lists, tables': /^1 status\n[^]*regression[^]*\['c1'/,
  Benchmarks: /^running [^]*\ndone [^]*\n1 c1\n$/,
  asyncio: /^0\.\d+\n$/,
  Errors: /^invalid-request \[\{'path': 'issue.environment'/,
  slime: /^0\.\d+$/,
  OpenRLHF: /^\{"rewards":\[0\.\d+,0\.\d+\],"scores":\[.*"basis":"hybrid"/,
  'NeMo Gym':
    /"reward":0\.\d+,"mask_sample":false.*\{"rewards":\[0\.\d+,0\.\d+\],"comparison_results":\[\{"response_i":0/s,
  'verifiers and prime-rl': /^\[\(0\.\d+, -?0\.\d+|^\[\(0\.\d+, 0\.0\)/,
  rLLM: /^RewardOutput\(reward=0\.\d+, metadata=\{.*'basis': 'hybrid'.*\}, is_correct=(True|False)\)/,
  Inspect: /^Score\(value=0\.\d+, answer='diff[^]*'basis': 'hybrid'[^]*\nScore\(value=0\.\d+[^]*'candidate_id': 'c3'/,
  Harbor: /^\{"reward": 0\.\d+\}$/,
  'R2E-Gym': /^t1\n$/,
  GitHub: /Selected: fix\/c1[^]*diff --git a\/intervals/,
};

describe.each(PAGES)('%s', (page) => {
  const snippets = snippetsOf(page);

  it.each(snippets.map((snippet) => [snippet.name, snippet] as const))(
    '%s',
    async (name, { language, text }) => {
      const [command = '', ...args] =
        language === 'python' ? [PYTHON, '-c', text] : ['bash', '-euo', 'pipefail', '-c', text];
      const run = spawn(command, args, { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
      const { code, stdout, stderr } = await ended(run);
      expect({ code, said: code === 0 ? '' : stderr }).toEqual({ code: 0, said: '' });
      expect(stdout).toMatch(SAYS[name.split(': ').at(-1) ?? ''] ?? /^never$/);
    },
    180_000,
  );

  it('shows nothing that is not run', () => {
    expect(snippets.length).toBeGreaterThan(4);
    const all = readFileSync(join(root, page), 'utf8').match(/^```\w+$/gm) ?? [];
    expect(all.filter((fence) => fence !== '```json')).toHaveLength(snippets.length);
  });
});

describe('bestk mcp', () => {
  const read = (file: string): string => readFileSync(join(EXAMPLE, file), 'utf8');
  const issue = JSON.parse(read('issue.json')) as object;
  const tests = read('tests.jsonl')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as object);
  const candidates = ['c1', 'c3'].map((id) => ({ candidate_id: id, patch: read(`patches/${id}.diff`) }));

  async function call(client: Client, name: string, args: object): Promise<Record<string, unknown>> {
    const answer = await client.callTool({ name, arguments: { ...args } });
    expect(answer).not.toHaveProperty('isError');
    return answer.structuredContent as Record<string, unknown>;
  }

  it('offers its tools on stdin and stdout', async () => {
    const client = new Client({ name: 'test', version: '0' });
    // What the snippets had executed is not executed again.
    const store = new SqliteDriver(cli.path('store.sqlite'), { readonly: true });
    await store.backup(cli.path('mcp.sqlite'));
    store.close();
    const env = { ...environment, DATABASE_URL: `file:${cli.path('mcp.sqlite')}`, BESTK_LOG_LEVEL: 'silent' };
    await client.connect(new StdioClientTransport({ command: join(folder, 'bin/bestk'), args: ['mcp'], env }));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['select_patch', 'verify_patch', 'explain_selection', 'run_status']);
    const begun = await call(client, 'select_patch', { issue, candidates, tests, verifiers: ['eb'], wait_s: 0 });
    expect(begun.status).not.toBe('done');
    let picked = begun;
    while (picked.status !== 'done') picked = await call(client, 'run_status', { run_id: begun.run_id, wait_s: 20 });
    expect(picked).toMatchObject({ status: 'done', candidate_id: 'c1', basis: 'hybrid', patch: candidates[0]?.patch });
    const why = await call(client, 'explain_selection', { run_id: begun.run_id });
    expect(why).toMatchObject({
      candidate_id: 'c1',
      ranking: [{ log_odds: { reproduction: expect.any(Number) as number } }, {}],
    });
    const lost = { candidate_id: 'c3', test_id: 't02', outcome: 'not-solved', kind: 'wrong-answer' };
    expect(why.tests_not_solved).toContainEqual(lost);
    const again = await call(client, 'select_patch', { issue, candidates, tests, verifiers: ['eb'] });
    expect(again.run_id).toBe(begun.run_id);
    const wrong = await client.callTool({ name: 'run_status', arguments: { run_id: 'none' } });
    expect(wrong).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('no run "none"') as string }],
    });
    await client.close();
  }, 180_000);

  it('offers them over HTTP on loopback, and not to a page of another site', async () => {
    const server = cli.start(['mcp', '--port', '0'], { DATABASE_URL: `file:${cli.path('mcp-http.sqlite')}` });
    const done = ended(server);
    if (server.stderr === null) throw new Error('It was started without a pipe.');
    const [line] = await new Promise<string[]>((resolve) => {
      createInterface(server.stderr as NodeJS.ReadableStream).once('line', (text) => {
        resolve([text]);
      });
    });
    const url = /http:\S+/.exec(line ?? '')?.[0] ?? '';
    const client = new Client({ name: 'test', version: '0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const asked = { issue, patch: candidates[1]?.patch, verifiers: ['eb'], wait_s: 20 };
    let verified = await call(client, 'verify_patch', asked);
    while (verified.status !== 'done') verified = await call(client, 'verify_patch', asked);
    expect(verified).toMatchObject({
      status: 'done',
      basis: 'hybrid',
      verdicts: [{ measure: 'regression', score: 53 }, { abstained: 'no-tests' }],
    });
    const { run_id } = verified;
    expect(await call(client, 'run_status', { run_id })).toMatchObject({ status: 'done', candidate_id: 'patch' });
    expect(await call(client, 'explain_selection', { run_id })).toMatchObject({ run_id, tests_not_solved: [] });
    const among = { issue, candidates: candidates.slice(1), verifiers: ['eb'], min_confidence: 1, wait_s: 60 };
    expect(await call(client, 'select_patch', among)).toMatchObject({ candidate_id: null, ranking: [{ rank: 1 }] });
    const fromElsewhere = await fetch(url, { method: 'POST', headers: { origin: 'https://evil.test' }, body: '{}' });
    expect(fromElsewhere.status).toBe(403);
    await client.close();
    server.kill('SIGTERM');
    expect((await done).code).toBe(0);
  }, 180_000);
});
