import { mkdirSync, writeFileSync } from 'node:fs';
import { CommandLine } from '../../fixtures/command-line.js';
import { calculatorIssue, candidate, RIGHT } from '../../fixtures/calculator.js';

it('lists the prompts, prints one, and refuses what is none', async () => {
  const cli = new CommandLine();
  const { stdout } = await cli.run(['prompts']);
  expect(stdout).toMatch(/^[0-9a-f]{12} {2}verifier\/yes-no$/m);
  expect(stdout).toMatch(/^[0-9a-f]{12} {2}criteria\/root-cause$/m);
  const one = await cli.run(['prompts', 'verifier/yes-no']);
  expect(one.stdout).toMatch(/yes-no\.system\.md\n---\nid: verifier\/yes-no\n[^]*yes-no\.user\.md\n---\n/);
  const none = await cli.run(['prompts', 'verifier/best', '--json']);
  expect(none).toMatchObject({ code: 2, stdout: expect.stringContaining('There is no prompt') as unknown });
});

it('takes those of one’s own, and refuses a wrong one before any model is called', async () => {
  const cli = new CommandLine({ BESTK_VERIFIER_MODEL: 'judge', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' });
  mkdirSync(cli.path('own/verifier'), { recursive: true });
  const file = cli.path('own/verifier/yes-no.user.md');
  const head = '---\nid: verifier/yes-no\nversion: 9\nrole: user\n---\n';
  writeFileSync(file, `${head}Is this right? {{ attempt }}\n`);
  const { stdout } = await cli.run(['prompts', 'verifier/yes-no', '--json'], { BESTK_PROMPTS: cli.path('own') });
  expect(JSON.parse(stdout)).toMatchObject({
    prompts: [{ id: 'verifier/yes-no', files: [{ own: false }, { own: true, path: file }] }],
  });
  writeFileSync(file, `${head}{{ resolved }}\n`);
  const args = [
    ...['select', '--issue', cli.write('issue.json', JSON.stringify(calculatorIssue)), '--verifiers', 'ef'],
    ...['--candidates', cli.jsonl('candidates.jsonl', [candidate('right', RIGHT)]), '--out', cli.path('out')],
  ];
  const { code, stderr } = await cli.run(args, { BESTK_PROMPTS: cli.path('own') });
  expect(`${code} ${stderr}`).toMatch(/^2 .*yes-no\.user\.md, field "resolved": is not a variable of this prompt/);
});
