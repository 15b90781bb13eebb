import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { MemoryReportStore } from '../../fakes/memory-report-store.js';
import { ScriptedExecutor, untilStopped } from '../../fakes/scripted-executor.js';
import { ended } from '../../fixtures/command-line.js';
import { PATCH, rankedResult } from '../../fixtures/runs.js';
import { serveRuns, type TestServer } from '../../unit/http/http-world.js';

const root = join(import.meta.dirname, '../../..');
const CLIENT = join(root, 'clients/python');
/** Debian's, whose packages the set-up installs. */
const PYTHON = '/usr/bin/python3';

let folder: string;
let store: OpenStore;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-python-'));
  store = await openSqliteStore(join(folder, 'store.sqlite'));
  const executor = new ScriptedExecutor(async (run, emit, signal) => {
    const { issue } = RunRequest.parse(run.request);
    if (issue.instance_id === 'demo-broken') throw new Error('Something broke.');
    if (issue.instance_id === 'demo-endless') return untilStopped(run, emit, signal);
    await emit('stage', {});
    return rankedResult(run);
  });
  server = await serveRuns(store.runs, executor, { benchmarks: store.benchmarks, reports: new MemoryReportStore() });
});
afterAll(async () => {
  await server.close();
  await store.close();
  await rm(folder, { recursive: true });
});

describe('the Python client', () => {
  it.each(['sync', 'async'])('makes every call, %s', async (which) => {
    const calls = join(import.meta.dirname, 'calls.py');
    const env = { PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' };
    const run = spawn(PYTHON, ['-W', 'error', calls, server.url, which, PATCH], { env });
    const { code, stdout, stderr } = await ended(run);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      url: true,
      selected: ['done', 0.7],
      told: ['status', 'status', 'stage', 'status'],
      'events after the first': -1,
      patch: true,
      candidate: true,
      evidence: expect.arrayContaining(['candidates', 'cells', 'selection', 'tests']) as unknown,
      scores: [
        ['a', 1, 0],
        ['b', 2, 0.7],
      ],
      matrix: expect.any(Number) as unknown,
      frame: ['frame', 2],
      solved: 'done',
      estimated: ['at_least', 'at_most', 'likely', 'parts'],
      'same key': true,
      listed: [`demo-${which}`, `demo-${which}`],
      failed: ['RunFailedError', 'internal', true],
      refused: ['ProblemError', 'invalid-request', true],
      reward: [0, 0.7],
      late: ['TimeoutError', expect.stringMatching(/wait for it again, or cancel it\.$/)],
      'late and quiet': ['TimeoutError', expect.stringMatching(/wait for it again, or cancel it\.$/)],
      cancelled: ['RunFailedError', 'cancelled', true],
      deleted: ['ProblemError', 'not-found', true],
      nobody: ['UnreachableError', 'unreachable', true],
      'away from the first': ['UnreachableError', 'unreachable', true],
      back: [{}, {}],
      'away at a change': ['UnreachableError', 'unreachable', true],
      rescored: [1, 0],
      report: 'Two',
      bench: ['bestk-bench-report', [['mine', 2]]],
      standings: ['done', true],
      found: ['Nightly', 2],
      lines: ['o__r-1', 'o__r-2'],
      over: ['ProblemError', 'conflict', true],
      paused: 'paused',
      'bench late': ['TimeoutError', expect.stringMatching(/wait for it again, or cancel it\.$/)],
      'bench cancelled': ['BenchmarkFailedError', 'cancelled', true],
      'no bench': ['ProblemError', 'bad-input', true],
    });
  });

  it('offers the same calls with the same arguments, sync and async', () => {
    const text = `
import inspect
from bestk import AsyncClient, Client

def calls(client):
    return {name: list(inspect.signature(method).parameters) for name, method in inspect.getmembers(client, callable) if name[0] != "_"}

assert len(calls(Client)) > 20
assert {**calls(Client), "call": ["self", "method", "args", "named"]} == calls(AsyncClient)
`;
    const { status, stderr } = spawnSync(PYTHON, ['-c', text], { env: { PYTHONPATH: CLIENT }, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('takes a key from its URL, and does not print it', async () => {
    const keyed = await serveRuns(store.runs, new ScriptedExecutor(), { apiKeys: ['se/cret'] });
    await runs(`
from bestk import BestkError

client = Client("${keyed.url}/".replace("//", "//any:se%2Fcret@", 1))
assert client.url == "${keyed.url}"
list(client.runs())
try:
    list(Client("http://any:se%2Fcret@127.0.0.1:1").runs())
except BestkError as error:
    assert "127.0.0.1:1:" in str(error) and "cret" not in str(error), error
else:
    raise AssertionError("It was answered.")
`);
    await keyed.close();
  });

  it('finds the patch in a response as the service does', async () => {
    await runs(`
from bestk.adapters.text import patch_in

for token in (
    "<|im_end|>", "<|im_end|>\\n", "<|im_end|>\\n<|endoftext|>", "<|eot_id|><|endoftext|>", "</s>", "<eos>",
    "<end_of_turn>\\n<eos><pad><pad>", "<seed:eos>", "[e~[\\n",
):
    assert patch_in("Here it is.\\n" + patch[:-1] + token) == patch, token
    assert patch_in(patch + token) == patch, token
assert patch_in(f"Here it is.\\n\`\`\`diff\\n{patch}\`\`\`<|im_end|>") == patch
assert patch_in(patch + " <|im_end|>\\n") == patch + " \\n"
assert patch_in(patch + "+</s>\\n") == patch + "+</s>\\n"
`);
  });

  it('scores a group of verifiers as one pool, whatever the content of its messages', async () => {
    await runs(`
import asyncio
from bestk.adapters.verifiers import bestk_rubric

rubric = bestk_rubric(verifiers=["eb"])
assert rubric.has_group_rewards
part = {"type": "text", "text": patch}
said = [patch, [{"type": "image_url", "image_url": {"url": "x"}}, part], None]
completions = [*([{"role": "assistant", "content": each}] for each in said), None]
states = [{"info": {"issue": issue}, "completion": completion} for completion in completions]
asyncio.run(rubric.score_group(states))
assert [state["reward"] for state in states] == [0.7, 0.7, 0, 0], states
assert states[0]["metrics"] == {"bestk": 0.7}
(_,) = Client(url).runs(instance=issue["instance_id"])
asyncio.run(rubric.score_rollout(states[0]))
assert states[0]["reward"] == 0.7
`);
  });

  it('rewards the actions of rLLM', async () => {
    await runs(`
from types import SimpleNamespace
from bestk.adapters.rllm import bestk_reward

reward = bestk_reward(threshold=0.6, verifiers=["eb"])
task = {"question": "Fix it.", "issue": issue}
for action in (patch, SimpleNamespace(action=patch)):
    output = reward(task_info=task, action=action)
    assert (output.reward, output.is_correct, output.metadata["basis"]) == (0.7, True, "hybrid"), output
assert reward(task_info=task, action="I gave up.").is_correct is False
`);
  });

  it('is typed, and uses nothing newer than Python 3.9', () => {
    const args = ['-m', 'mypy', '--cache-dir', join(folder, 'mypy'), '-p', 'bestk'];
    const { stdout, stderr } = spawnSync(PYTHON, args, { cwd: CLIENT, encoding: 'utf8' });
    expect(stdout + stderr).toMatch(/^Success: no issues found in \d\d source files\n$/);
  });
});

/** A script about an issue and a patch, with the stand-ins for frameworks. */
async function runs(text: string): Promise<void> {
  const given = `
import sys
from bestk import Client

url, patch = sys.argv[1:]
issue = {"instance_id": "demo-adapters", "problem_statement": "x is wrong", "environment": {"image": "demo:1"}}
`;
  const frameworks = join(root, 'test/fixtures/frameworks');
  const env = { PYTHONPATH: `${CLIENT}:${frameworks}`, PYTHONDONTWRITEBYTECODE: '1', BESTK_URL: server.url };
  const { code, stderr } = await ended(spawn(PYTHON, ['-W', 'error', '-c', given + text, server.url, PATCH], { env }));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}
