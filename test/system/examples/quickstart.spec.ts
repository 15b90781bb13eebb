import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { Candidate } from '../../../src/core/run/candidate.js';
import { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { Issue } from '../../../src/core/run/issue.js';

const EXAMPLE = 'examples/quickstart';
const rows = (file: string): unknown[] =>
  readFileSync(`${EXAMPLE}/${file}`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

describe('the quickstart example', () => {
  it('is what its editable sources say', () => {
    const check = spawnSync(process.execPath, ['scripts/make-example.mjs', '--check'], { encoding: 'utf8' });
    expect({ status: check.status, stderr: check.stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('follows the file formats, with one issue throughout', () => {
    const issue = Issue.parse(JSON.parse(readFileSync(`${EXAMPLE}/issue.json`, 'utf8')));
    const candidates = rows('candidates.jsonl').map((row) => Candidate.parse(row));
    const tests = rows('tests.jsonl').map((row) => GeneratedTest.parse(row));
    const ids = new Set([...candidates, ...tests].map((row) => row.instance_id));
    expect([...ids]).toEqual([issue.instance_id]);
    for (const file of issue.environment.regression_files) expect(existsSync(`${EXAMPLE}/repo/${file}`)).toBe(true);
  });

  it('labels and judges exactly the candidates it has', () => {
    const candidateIds = rows('candidates.jsonl').map((row) => Candidate.parse(row).candidate_id);
    const labels = rows('labels.jsonl') as { candidate_id: string }[];
    const judge = JSON.parse(readFileSync(`${EXAMPLE}/judge.json`, 'utf8')) as {
      p_yes: { candidates: Record<string, number> };
    };
    expect(labels.map((label) => label.candidate_id)).toEqual(candidateIds);
    expect(Object.keys(judge.p_yes.candidates)).toEqual(candidateIds);
  });

  it('is recorded without what an image says of the day it was built: the recording would answer no later one', () => {
    const shown = rows('recording.jsonl').flatMap((row) =>
      (row as { request: { messages: { content: string }[] } }).request.messages.map(({ content }) => content),
    );
    expect(shown.filter((text) => /^[-dl][rwx-]{9} /m.test(text))).toEqual([]);
  });
});
