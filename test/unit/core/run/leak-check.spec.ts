import { leaksOf } from '../../../../src/core/run/candidate.js';

const of = (command: string): readonly string[] =>
  leaksOf([{ action: `<function=execute_bash>\n<parameter=command>${command}</parameter>\n</function>` }]).map(
    ({ leak }) => leak,
  );

it.each([
  ['git log --all --oneline', 'git-history'],
  ['cd /testbed && git reflog', 'git-history'],
  ['git -C /testbed fsck --unreachable', 'git-history'],
  ['git show origin/main:sympy/core.py', 'git-history'],
  ['git log --grep="24066"', 'git-history'],
  ['git fetch origin', 'upstream'],
  ['git clone https://github.com/sympy/sympy', 'upstream'],
  ['curl -s https://github.com/django/django/pull/1.diff', 'upstream'],
  ['wget https://raw.githubusercontent.com/x/y/main/a.py', 'upstream'],
  ['pip download sympy==1.12', 'package-download'],
  ['pip3 install --upgrade django', 'package-download'],
  ['python -m pip install sympy', 'package-download'],
  ['/usr/bin/git reflog', 'git-history'],
  ['GIT_PAGER=cat sudo git log --all', 'git-history'],
  ['bash -c "git fetch"', 'upstream'],
  ['x=$(git log --all)', 'git-history'],
])('flags %s', (command, leak) => {
  expect(of(command)).toEqual([leak]);
});

it.each([
  'git log -3',
  'git log --oneline -5 sympy/core',
  'git show HEAD:sympy/core.py',
  'git diff && git status',
  'git stash && python t.py && git stash pop',
  'pip install -e .',
  'pip install -r requirements.txt',
  'pip list',
  'grep -rn "git fetch" docs',
  'python -m pytest tests/test_github.py',
])('does not flag %s', (command) => {
  expect(of(command)).toEqual([]);
});

it('names the first step of each way, once', () => {
  const steps = ['ls', 'git reflog', 'git fsck', 'git pull'].map((action) => ({ action }));
  expect(leaksOf(steps)).toEqual([
    { leak: 'git-history', step: 2 },
    { leak: 'upstream', step: 4 },
  ]);
});

it.each(['>git log ', 'git log ', '(pip ', '-c "', ' '])('comes to an end on many a "%s"', (piece) => {
  expect(of(`echo ${piece.repeat(10_000)}`)).toEqual([]);
});
