import { calcTest, calculatorIssue } from '../../fixtures/calculator.js';
import { CommandLine } from '../../fixtures/command-line.js';

it('says what a run can come to at most, in calls, tokens and money, and does nothing', async () => {
  const cli = new CommandLine({
    BESTK_AGENT_MODEL: 'agent',
    BESTK_VERIFIER_MODEL: 'judge',
    BESTK_AGENT_MAX_STEPS: '10',
    BESTK_AGENT_MAX_STEPS_ABSOLUTE: '10',
    BESTK_AGENT_LIMITS: 'max_tokens=50000, max_answer_tokens=1000',
  });
  const prices = cli.write('prices.yaml', 'agent: { input: 1, output: 10 }\njudge: { input: 2, output: 10 }\n');
  const issue = cli.write('issue.json', JSON.stringify(calculatorIssue));
  const args = ['solve', '--issue', issue, '-k', '4', '--estimate', '--json'];
  const { code, stdout } = await cli.run(args, { BESTK_PRICES: prices });
  expect(code).toBe(0);
  const agent = 4 * 10;
  expect(JSON.parse(stdout)).toEqual({
    at_most: {
      model_calls: agent + 4,
      tokens: agent * 50_000 + 4 * 65_536,
      usd: expect.closeTo((agent * (49_000 * 1 + 1_000 * 10) + 4 * 65_536 * 2) / 1e6, 9) as number,
    },
  });
  const bench = ['bench', 'run', '--dataset', issue, '-k', '4', '--estimate', '--json'];
  const whole = JSON.parse((await cli.run(bench, { BESTK_PRICES: prices })).stdout) as object;
  expect(whole).toEqual({
    ...(JSON.parse(stdout) as object),
    arms: [{ arm: 'mine', instances: 1, ...(JSON.parse(stdout) as object) }],
  });
  const looked = await cli.run([...args, '--verifiers', 'ef:agent'], { BESTK_PRICES: prices });
  // Three looks of half the steps, and three more in which to say the verdict.
  expect(JSON.parse(looked.stdout)).toMatchObject({ at_most: { model_calls: agent + 4 * 3 * (5 + 3) } });
  const inEarnest = await cli.run(args.slice(0, -2));
  expect(`${inEarnest.code} ${inEarnest.stderr}`).toMatch(/^2 .*--out/);
  const unpriced = await cli.run(args);
  expect(JSON.parse(unpriced.stdout)).toMatchObject({ at_most: { usd: null } });
  const bad = await cli.run(args, { BESTK_PRICES: cli.write('bad.yaml', 'agent: { input: x }') });
  expect(`${bad.code} ${bad.stderr}`).toMatch(/^2 .*bad\.yaml, field "agent\.input"/);
});

it('says that nothing is sampled or judged where saved candidates are executed alone', async () => {
  const cli = new CommandLine();
  const issue = cli.write('issue.json', JSON.stringify(calculatorIssue));
  const { instance_id } = calculatorIssue;
  const saved = cli.write('candidates.jsonl', `${JSON.stringify({ instance_id, candidate_id: 'c', patch: '' })}\n`);
  const bench = ['bench', 'run', '--dataset', issue, '--candidates', saved, '--verifiers', 'eb', '--estimate'];
  const { code, stdout } = await cli.run(bench);
  expect(`${code} ${stdout}`).toMatch(
    /^0 [^]*no trajectory and no judgement\nNothing is sampled and no judge is asked\.\n$/,
  );
  expect(stdout).not.toContain('at most 0');
  const writer = { BESTK_TEST_MODEL: 'writer' };
  expect((await cli.run(bench, writer)).stdout).toContain('write tests is not in this bound');
  const tests = cli.jsonl('tests.jsonl', [calcTest('negative', 'add(-2, 3) == 1')]);
  expect((await cli.run([...bench, '--tests', tests], writer)).stdout).not.toContain('write tests');
});

it.each([
  [
    'fewer steps at all than the agent is told of',
    { BESTK_AGENT_MAX_STEPS_ABSOLUTE: '5' },
    /BESTK_AGENT_MAX_STEPS_ABSOLUTE.*less than/,
  ],
  ['an unknown format', { BESTK_AGENT_FORMAT: 'yaml' }, /BESTK_AGENT_FORMAT/],
  ['an unknown limit', { BESTK_AGENT_LIMITS: 'action_s=5,patience=3' }, /BESTK_AGENT_LIMITS/],
  ['a limit that is no number', { BESTK_AGENT_LIMITS: 'action_s=soon' }, /BESTK_AGENT_LIMITS\.action_s/],
  ['a limit by its former name', { BESTK_AGENT_ACTION_S: '5' }, /BESTK_AGENT_ACTION_S.*BESTK_AGENT_LIMITS.*action_s=/s],
  ['an unknown option', { BESTK_EF_OPTIONS: 'think,hurry' }, /BESTK_EF_OPTIONS/],
  [
    'one of an earlier release',
    { BESTK_EF_PATCH_ALONE: 'true' },
    /BESTK_EF_PATCH_ALONE.*BESTK_EF_OPTIONS.*patch-alone/s,
  ],
])('a setting stops the start with its name: %s', async (_name, settings, words) => {
  const { code, stderr } = await new CommandLine().run(['doctor'], settings);
  expect(`${code} ${stderr}`).toMatch(words);
  expect(code).toBe(2);
});
