import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgementReply } from '../../fakes/chat-reply.js';
import { ModelServer } from '../../fakes/model-server.js';
import { calculatorIssue, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { CommandLine } from '../../fixtures/command-line.js';
import { CANARY, FIXTURES } from '../../unit/io/saved-runs/saved-fixtures.js';
import { SavedFolder } from '../../unit/io/saved-runs/import-world.js';

let server: ModelServer;
beforeEach(async () => {
  server = await ModelServer.start(
    (body) => ({
      json: judgementReply(JSON.stringify(body.messages).includes('return a + b') ? 0.9 : 0.2, body.model),
    }),
    ['judge'],
  );
});
afterEach(() => server.close());

const commandLine = (): CommandLine =>
  new CommandLine({ OPENAI_BASE_URL: server.baseUrl, BESTK_VERIFIER_MODEL: 'judge' });

/** Two runs of a SWE-agent on the calculator, and what is known of it. */
function calculatorRuns(cli: CommandLine): { input: string; issues: string; labels: string } {
  const folder = new SavedFolder();
  const id = calculatorIssue.instance_id;
  for (const [run, patch] of [
    ['first', WRONG],
    ['second', RIGHT],
  ] as const) {
    const trajectory = [{ action: 'ls', observation: 'calc.py', thought: 'I look.' }];
    folder.json(`${run}/${id}.traj`, { trajectory, info: { exit_status: 'submitted', submission: patch } });
  }
  const labels = ['first', 'second'].map((candidate_id) => ({
    instance_id: id,
    candidate_id,
    resolved: candidate_id === 'second',
  }));
  return {
    input: folder.path,
    issues: cli.write('issues.jsonl', `${JSON.stringify(calculatorIssue)}\n`),
    labels: cli.jsonl('labels.jsonl', labels),
  };
}

/** All files below, but the sealed labels. */
function* openFiles(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* openFiles(path);
    else if (entry.name !== 'labels.jsonl') yield path;
  }
}

describe('bestk rescore', () => {
  it('scores saved runs in containers and by the judge, selects, and goes on from what is stored', async () => {
    const cli = commandLine();
    const { input, issues, labels } = calculatorRuns(cli);
    const args = [
      'rescore',
      '--input',
      input,
      '--issues',
      issues,
      '--labels',
      labels,
      '--out',
      cli.path('out'),
      '--json',
    ];
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ rescored: 1, skipped: 0, candidates: 2 });
    expect(cli.readLines('out/selections.jsonl')).toMatchObject([{ candidate_id: 'second', basis: 'hybrid' }]);
    expect(cli.readLines('out/predictions.jsonl')).toMatchObject([
      { instance_id: calculatorIssue.instance_id, model_name_or_path: 'bestk-deepswe', model_patch: RIGHT },
    ]);
    expect(cli.readLines('out/scores.jsonl')).toMatchObject([
      { candidate_ids: ['first', 'second'], resolved: [false, true], regression: [1, 1] },
    ]);
    const calls = server.calls.length;
    const again = await cli.run([...args.slice(0, -3), '--out', cli.path('again'), '--json']);
    expect(again.code).toBe(0);
    expect(server.calls).toHaveLength(calls);

    const curves = await cli.run(['curves', '--scores', cli.path('out/scores.jsonl'), '--json']);
    expect(JSON.parse(curves.stdout)).toMatchObject({ pass_at_k: { 1: { value: 0.5 }, 2: { value: 1 } } });
  });

  it('lets nothing sealed into a prompt, a message, or any file but the sealed one, whatever the format', async () => {
    const cli = commandLine();
    const folder = new SavedFolder();
    for (const { file, content } of Object.values(FIXTURES)) folder.json(file, content);
    const { code, stdout, stderr } = await cli.run(['rescore', '--input', folder.path, '--out', cli.path('out')]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(server.calls.length).toBeGreaterThanOrEqual(1);
    expect(JSON.stringify(server.calls.map(({ body }) => body))).not.toContain(CANARY);
    expect(stdout + stderr).not.toContain(CANARY);
    const files = [...openFiles(cli.path('out'))];
    expect(files.length).toBeGreaterThan(8);
    for (const file of files) expect(`${file} ${readFileSync(file, 'utf8')}`).not.toContain(CANARY);
    expect(readFileSync(cli.path('out/imported/labels.jsonl'), 'utf8')).toContain(CANARY);
  });

  it.each([
    ['runs without a statement', [], /no problem statement/],
    ['the execution-based verifier without an image', ['--verifiers', 'eb'], /needs an image|no problem statement/],
  ])('skips %s, and says why', async (_name, more, reason) => {
    const cli = commandLine();
    const { input } = calculatorRuns(cli);
    const { code } = await cli.run(['rescore', '--input', input, '--out', cli.path('out'), ...more]);
    expect(code).toBe(2);
    expect(cli.readLines('out/skipped.jsonl')).toMatchObject([{ reason: expect.stringMatching(reason) as string }]);
  });
});
