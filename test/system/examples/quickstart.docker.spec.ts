import { readFileSync } from 'node:fs';
import { EXAMPLE, exampleEnvironment } from '../../../scripts/example-environment.mjs';
import { CommandLine } from '../../fixtures/command-line.js';

/** The ranking, what was found out on the way, and the choice: what does not differ from one execution to the next. */
function decision(text: string): string[] {
  return text.split('\n').filter((line) => /^(rank |\* | {2}[2-8] |Pass@1|Selected:)/.test(line));
}

it('replays the recording in an image that was built since, and decides as README shows it', async () => {
  const cli = new CommandLine({ BESTK_REPLAY: `${EXAMPLE}/recording.jsonl` });
  const inputs = { issue: 'issue.json', tests: 'tests.jsonl', labels: 'rollout-labels.jsonl' };
  const files = Object.entries(inputs).flatMap(([name, file]) => [`--${name}`, `${EXAMPLE}/${file}`]);
  const { code, stdout, stderr } = await cli.run(
    ['solve', '-k', '8', ...files, '--out', cli.path('out')],
    exampleEnvironment(cli.folder),
  );
  expect({ code, said: code === 0 ? '' : stderr }).toEqual({ code: 0, said: '' });
  const shown = /<!-- quickstart -->\n```\n(.*?)```/s.exec(readFileSync('README.md', 'utf8'))?.[1] ?? '';
  expect(decision(shown)).toHaveLength(11);
  expect(decision(stdout)).toEqual(decision(shown));
}, 180_000);
