import { CommandLine } from '../../fixtures/command-line.js';
import { idOf, LANGUAGES, languageIssues } from '../../fixtures/languages.js';

describe('tests in languages without a driver', () => {
  const cli = new CommandLine({ BESTK_SANDBOX_CONCURRENCY: '4' });

  beforeAll(async () => {
    const { issues, candidates, tests } = languageIssues();
    const files = {
      issue: cli.jsonl('issues.jsonl', issues),
      candidates: cli.jsonl('candidates.jsonl', candidates),
      tests: cli.jsonl('tests.jsonl', tests),
    };
    const options = Object.entries(files).flatMap(([name, path]) => [`--${name}`, path]);
    const ended = await cli.run(['select', ...options, '--verifiers', 'eb', '--out', cli.path('out')]);
    expect(ended).toMatchObject({ code: 0 });
  }, 300_000);

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
        evidence: expect.objectContaining({ trust: 'command', control: 'none', isolated: true }) as unknown,
      }),
    );
  });
});
