import { chatReply } from '../../fakes/chat-reply.js';
import { ModelServer } from '../../fakes/model-server.js';
import { CommandLine } from '../../fixtures/command-line.js';
import { idOf, LANGUAGES, languageIssues } from '../../fixtures/languages.js';

/** The language that a prompt asks for, as it stands behind the marks of a block. */
const ASKED = /begins with ```(\w+) and, after a space, the path/;

describe('tests in languages without a driver', () => {
  let server: ModelServer;
  let cli: CommandLine;
  const asked: string[] = [];

  beforeAll(async () => {
    const { issues, candidates, tests } = languageIssues();
    server = await ModelServer.start(
      ({ messages, model }) => {
        const language = ASKED.exec(messages.at(-1)?.content ?? '')?.[1] ?? 'none';
        asked.push(language);
        const blocks = tests
          .filter(({ instance_id }) => instance_id === idOf(language))
          .map(({ path, content }) => `A case.\n\`\`\`${language} ${path}\n${content}\`\`\`\n`);
        return { json: chatReply([{ token: blocks.join('') }], model) };
      },
      ['writer'],
    );
    const settings = {
      OPENAI_BASE_URL: server.baseUrl,
      BESTK_TEST_MODEL: 'writer',
      BESTK_TEST_SAMPLES: '1',
      BESTK_TEST_HOLDING: '0',
    };
    cli = new CommandLine({ BESTK_SANDBOX_CONCURRENCY: '4', ...settings });
    const files = {
      issue: cli.jsonl('issues.jsonl', issues),
      candidates: cli.jsonl('candidates.jsonl', candidates),
    };
    const options = Object.entries(files).flatMap(([name, path]) => [`--${name}`, path]);
    const ended = await cli.run(['select', ...options, '--verifiers', 'eb', '--out', cli.path('out')]);
    expect(ended).toMatchObject({ code: 0 });
  }, 900_000);

  afterAll(() => server.close());

  it('are asked for, of a model, in the language of the repository', () => {
    expect(asked.toSorted()).toEqual([...LANGUAGES].sort());
  });

  it.each(LANGUAGES)('do not believe a patch in %s that also reports a test as passed that has to fail', (language) => {
    const verdicts = cli.readLines(`out/${idOf(language)}/verdicts.jsonl`);
    expect(verdicts.filter(({ candidate_id }) => candidate_id === 'forger')).toMatchObject([
      { kind: 'abstained', reason: 'forged' },
      { kind: 'abstained', reason: 'forged' },
    ]);
  });

  it.each(LANGUAGES)('pick the right patch in %s, by the word of a command', (language) => {
    const out = `out/${idOf(language)}`;
    expect(cli.readJson(`${out}/selection.json`)).toMatchObject({ candidate_id: 'right' });
    const cells = cli.readLines(`${out}/matrix.jsonl`).filter(({ suite }) => suite === 'reproduction');
    const outcomes = (id: string | null): unknown[] =>
      cells.filter(({ candidate_id }) => candidate_id === id).map(({ outcome, trust }) => [outcome, trust].join(', '));
    expect(outcomes(null)).toEqual(Array.from({ length: 4 }, () => 'not-solved, command'));
    expect(outcomes('right')).toEqual(['solved, command', 'solved, command']);
    expect(outcomes('wrong').toSorted()).toEqual(['not-solved, command', 'solved, command']);
    const verdicts = cli.readLines(`${out}/verdicts.jsonl`).filter(({ measure }) => measure === 'reproduction');
    expect(verdicts).toContainEqual(
      expect.objectContaining({
        candidate_id: 'right',
        score: 2,
        evidence: expect.objectContaining({ trust: 'command', control: 'failed', isolated: true }) as unknown,
      }),
    );
  });
});
