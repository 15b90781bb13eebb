import { ContainerStuckError } from '../../../src/agent/tools/workspace.js';
import { agentWorld, type AgentWorld } from './agent-world.js';

let world: AgentWorld;
beforeAll(async () => {
  world = await agentWorld();
  await world.bash(String.raw`
mkdir -p /testbed/pkg/sub /testbed/.hidden && cd /testbed/pkg
printf 'one\ntwo\nthree\nfour\nfive\n' >lines.txt
printf 'class A:\n    @property\n    def f(self):\n        return 1\n\nasync def g():\n    pass\n' >code.py
printf 'a\r\nb\r\nc\r\n' >crlf.txt
printf 'caf\351\nold\n' >latin1.txt
printf 'a\000b' >binary.bin
head -c 5000000 /dev/zero | tr '\0' x >huge.txt
printf '#!/bin/sh\necho old\n' >run.sh && chmod 755 run.sh
ln -s lines.txt link.txt; ln -s sub dirlink; ln -s nowhere dangling; ln -s /etc/hostname out
printf 'x' >"odd \$(touch pwned) 'name'.txt"
printf 'needle\n' >.hidden.py; printf 'needle [a-z]* needle\n-dash\n' >sub/deep.py; printf 'needle\n' >sub/notes.md`);
});
afterAll(() => world[Symbol.asyncDispose]());

const P = '/testbed/pkg';
const read = async (path: string): Promise<string> => (await world.bash(`od -An -c ${path} | tr -s ' '`)).text;

describe('view', () => {
  it.each([
    ['a file', { path: `${P}/lines.txt` }, /\(5 lines\):\n {5}1\tone\n[^]* {5}5\tfive$/],
    ['a range', { path: `${P}/lines.txt`, view_range: [2, 3] }, /^Lines 2 to 3 of 5 .*\n {5}2\ttwo\n {5}3\tthree$/],
    ['to the end', { path: `${P}/lines.txt`, view_range: [4, -1] }, /^Lines 4 to 5 of 5/],
    ['a range that is none', { path: `${P}/lines.txt`, view_range: [9, 2] }, /not within lines 1 to 5/],
    [
      'an outline',
      { path: `${P}/code.py`, concise: true },
      /1\tclass A:\n {5}2\t {4}@property\n {5}3\t {4}def f\(self\):\n {5}6\tasync def g\(\):$/,
    ],
    ['a directory', { path: '/testbed' }, /pkg\/\npkg\/binary\.bin\n[^]*pkg\/sub\//],
    ['a directory with a slash', { path: `${P}/` }, /sub\/\nsub\/deep\.py/],
    ['through a link', { path: `${P}/link.txt` }, /1\tone/],
    ['what is relative', { path: 'pkg/lines.txt' }, /1\tone/],
    ['what is not there', { path: `${P}/none` }, /does not exist/],
    ['a dangling link', { path: `${P}/dangling` }, /not a readable regular file/],
    ['a device', { path: '/dev/zero' }, /not a readable regular file/],
    ['a binary file', { path: `${P}/binary.bin` }, /binary file/],
    ['a huge file', { path: `${P}/huge.txt` }, /larger than 4 MiB/],
    ['a way out of the repository', { path: `${P}/../../etc/passwd` }, /without "\.\."/],
    ['a NUL byte', { path: 'a\0b' }, /NUL/],
    ['a name like a command', { path: `${P}/odd $(touch pwned) 'name'.txt` }, /1\tx/],
  ])('shows %s', async (_name, { path, ...more }, words) => {
    const view_range = 'view_range' in more ? (more.view_range as [number, number]) : undefined;
    expect(await world.edit({ command: 'view', path, view_range, concise: 'concise' in more })).toMatch(words);
  });

  it('leaves hidden entries out and runs nothing', async () => {
    expect(await world.edit({ command: 'view', path: '/testbed' })).not.toContain('.hidden');
    expect((await world.bash('find /testbed /tmp /root -name pwned | grep .')).exitCode).not.toBe(0);
  });
});

describe('changes', () => {
  it('replace what occurs once, show it, and can be taken back one by one', async () => {
    const path = `${P}/a.txt`;
    expect(await world.edit({ command: 'create', path, file_text: 'x\ny\nz\n' })).toMatch(/was created:\n {5}1\tx/);
    expect(await world.edit({ command: 'str_replace', path, old_str: 'y\n', new_str: 'Y1\nY2\n' })).toMatch(
      /2\tY1\n {5}3\tY2/,
    );
    expect(await world.edit({ command: 'insert', path, insert_line: 0, new_str: 'first' })).toMatch(
      /1\tfirst\n {5}2\tx/,
    );
    expect(await world.edit({ command: 'insert', path, insert_line: 5, new_str: 'last' })).toMatch(/6\tlast/);
    expect((await world.bash(`cat ${path}`)).text).toContain('first\nx\nY1\nY2\nz\nlast');
    for (const left of ['first\nx\nY1\nY2\nz\n', 'x\nY1\nY2\nz\n', 'x\ny\nz\n']) {
      expect(await world.edit({ command: 'undo_edit', path })).toMatch(/undone/);
      expect((await world.bash(`cat ${path}`)).text).toBe(`[STDOUT]\n\n${left}`);
    }
    expect(await world.edit({ command: 'undo_edit', path })).toMatch(/removed again/);
    expect(await world.edit({ command: 'undo_edit', path })).toMatch(/nothing to undo/);
  });

  it.each([
    ['matches twice', { old_str: 'o' }, /occurs 3 times, on lines 1, 2, 4/],
    ['overlaps itself', { old_str: 'ee' }, /^The file/],
    ['matches nothing', { old_str: 'six' }, /does not occur.*View the file/],
    ['differs in blanks', { old_str: 'two \n  three' }, /Lines 2 to 3 differ from it only in whitespace/],
    ['is empty', { old_str: '' }, /old_str is empty/],
    ['is the same', { old_str: 'one', new_str: 'one' }, /the same/],
  ])('tell the model of an old_str that %s', async (_name, edit, words) => {
    const path = `${P}/copy.txt`;
    await world.bash(`cp ${P}/lines.txt ${path}`);
    const before = await read(path);
    expect(await world.edit({ command: 'str_replace', path, new_str: 'E', ...edit })).toMatch(words);
    if (!words.source.startsWith('^The file')) expect(await read(path)).toBe(before);
  });

  it.each([
    ['a file that exists', { command: 'create', path: `${P}/lines.txt`, file_text: '' }, /already exists/],
    ['a directory', { command: 'create', path: P, file_text: '' }, /already exists/],
    ['below a file', { command: 'create', path: `${P}/lines.txt/x`, file_text: '' }, /was not created/],
    ['without text', { command: 'create', path: `${P}/new` }, /needs file_text/],
    ['in a directory', { command: 'str_replace', path: P, old_str: 'a' }, /is a directory/],
    ['in what is not there', { command: 'str_replace', path: `${P}/none`, old_str: 'a' }, /does not exist/],
    ['in a binary file', { command: 'insert', path: `${P}/binary.bin`, insert_line: 0, new_str: 'a' }, /binary/],
    ['behind the end', { command: 'insert', path: `${P}/lines.txt`, insert_line: 6, new_str: 'a' }, /0 to 5/],
    ['without a line', { command: 'insert', path: `${P}/lines.txt`, new_str: 'a' }, /needs insert_line/],
  ] as const)('are refused: %s', async (_name, edit, words) => {
    expect(await world.edit(edit)).toMatch(words);
  });

  it('make the directories of a new file', async () => {
    expect(await world.edit({ command: 'create', path: `${P}/x/y/z.txt`, file_text: 'z' })).toMatch(/was created/);
    expect((await world.bash(`cat ${P}/x/y/z.txt`)).text).toContain('z');
  });

  it('leave line ends, encoding, mode and links as they were', async () => {
    await world.edit({ command: 'str_replace', path: `${P}/crlf.txt`, old_str: 'b\nc', new_str: 'B\nB2\nc' });
    expect(await read(`${P}/crlf.txt`)).toContain(String.raw`a \r \n B \r \n B 2 \r \n c \r \n`);
    await world.edit({ command: 'str_replace', path: `${P}/latin1.txt`, old_str: 'old', new_str: 'né' });
    expect(await read(`${P}/latin1.txt`)).toContain(String.raw`c a f 351 \n n 351 \n`);
    expect(await world.edit({ command: 'str_replace', path: `${P}/latin1.txt`, old_str: 'n', new_str: '€' })).toMatch(
      /Latin-1/,
    );
    await world.edit({ command: 'str_replace', path: `${P}/run.sh`, old_str: 'old', new_str: 'new' });
    expect((await world.bash(`${P}/run.sh`)).text).toContain('new');
    await world.edit({ command: 'str_replace', path: `${P}/link.txt`, old_str: 'five', new_str: 'FIVE' });
    expect((await world.bash(`test -L ${P}/link.txt && cat ${P}/lines.txt`)).text).toContain('FIVE');
  });
});

describe('search', () => {
  it.each([
    [
      'a directory: Python files without hidden ones',
      ['needle', P],
      /^1 file in .* contains "needle":\nsub\/deep\.py \(1 match\)$/,
    ],
    ['a file: its lines', ['needle', `${P}/sub/deep.py`], /deep\.py \(1 line\):\n1:needle \[a-z\]\* needle$/],
    ['what looks like a pattern', ['[a-z]*', P], /deep\.py/],
    ['what looks like an option', ['-dash', P], /deep\.py/],
    ['other files where no Python file has it', ['FIVE', P], /lines\.txt|link\.txt/],
    ['nothing', ['nowhere to be found', P], /^No matches/],
    ['no place', ['x', `${P}/none`], /does not exist/],
    ['several lines', ['a\nb', P], /single line/],
  ])('in %s', async (_name, [term, path], words) => {
    expect(await world.search(term ?? '', path)).toMatch(words);
  });
});

describe('commands', () => {
  it('tell exit code, output and errors', async () => {
    expect(await world.bash('echo out; echo err >&2; exit 3')).toEqual({
      text: '[STDOUT]\n\nout\n\n\n[STDERR]\n\nerr\n',
      exitCode: 3,
      repeat: true,
    });
  });

  it('run in bash, in the repository, each in a shell of its own', async () => {
    expect((await world.bash('[[ a == a ]] && pwd && cd /')).text).toContain('/testbed\n');
    expect((await world.bash('pwd')).text).toContain('/testbed\n');
  });

  it.each([
    ['waits for input', 'cat; read x; echo "got $x"', /got/],
    ['leaves a daemon behind', '(sleep 300 &) ; sleep 300 & echo started', /started/],
    ['prints a line without end', 'head -c 3000000 /dev/zero | tr "\\0" y', /characters omitted/],
    ['prints many lines', 'seq 100000', /\n40\n\[… \d+ of \d+ lines omitted …\]\n[^]*\n99999\n100000\n/],
    ['prints what is no text', "printf '\\377\\376\\000ok'", /ok/],
  ])('that %s come back', async (_name, command, words) => {
    const { text, exitCode } = await world.bash(command);
    expect(exitCode).not.toBe(124);
    expect(text).toMatch(words);
    expect(text.length).toBeLessThan(40_000);
  });

  it('that print much leave all of it in a file', async () => {
    const { text } = await world.bash('seq 1000; seq 2000 3000 >&2');
    const [out = '', err = ''] = [...text.matchAll(/^\[The full output is in (\S+)\.\]$/gm)].map(
      ([, file = '']) => file,
    );
    expect((await world.bash(`wc -l <${out}; wc -l <${err}`)).text).toBe('[STDOUT]\n\n1000\n1001\n');
    expect(await world.edit({ command: 'view', path: out, view_range: [500, 501] })).toMatch(/500\t500\n +501\t501$/);
    const path = `${P}/long.txt`;
    await world.edit({ command: 'create', path, file_text: 'a\nb\n' });
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}`).join('\n');
    expect(await world.edit({ command: 'insert', path, insert_line: 1, new_str: lines })).toMatch(
      /line 299\n +302\tb$/,
    );
  });

  it('that print nothing say so, and to a model that was trained on empty parts show these', async () => {
    expect((await world.bash('true')).text).toBe('The command printed nothing.');
    await using trained = await agentWorld(20, true);
    expect((await trained.bash('true')).text).toBe('[STDOUT]\n\n\n\n[STDERR]\n\n');
    expect((await trained.bash('false')).text).toBe('Error executing command:\n\n[STDOUT]\n\n\n\n[STDERR]\n\n');
  });

  it.each([
    [{ command: 'view', path: '/testbed/.' }, /^\/testbed, two levels/],
    [{ command: 'view', path: `${P}//./run.sh` }, /^\/testbed\/pkg\/run\.sh \(2 lines\)/],
    [{ command: 'view', path: `${P}/odd $(touch pwned) 'name'.txt` }, /\(1 line\)/],
  ] as const)('and paths are told in one way: %j', async (edit, words) => {
    expect(await world.edit(edit)).toMatch(words);
  });

  it('with a NUL byte are not run', async () => {
    expect((await world.bash('echo a\0b')).text).toMatch(/NUL/);
  });
});

describe('limits', () => {
  it('stop a command that takes too long, and the container stays with what it wrote', async () => {
    await using quick = await agentWorld(2);
    const late = await quick.bash('echo before | tee /testbed/before.md; yes');
    expect(late).toMatchObject({ exitCode: 124, repeat: false });
    expect(late.text).toMatch(/did not end within 2 s[^]*before/);
    expect((await quick.bash('cat before.md')).text).toContain('before');
  });

  it('tell of a command that takes the container with it', async () => {
    await using small = await agentWorld();
    const outcome = await small.bash('python3 -c "x = bytearray(2_000_000_000); print(len(x))"');
    expect(outcome).toMatchObject({ lost: true, repeat: false });
    expect(outcome.text).toMatch(/ran out of memory[^]*as they were before/);
  });
});

describe('hostile input', () => {
  beforeAll(() => world.bash('echo x >/tmp/secret; chmod 000 /tmp/secret'));

  it.each([
    ['the root', '/'],
    ['the root, twice', '//'],
    ['a dot behind a slash', '/.'],
    ['a name that is too long', `${P}/${'n'.repeat(300)}`],
    ['a path that is too long', `/${'d/'.repeat(3000)}x`],
    ['a path longer than any argument', `/${'d/'.repeat(100_000)}x`],
    ['half of a character', `${P}/\ud800.txt`],
    ['a line end', `${P}/a\nb.txt`],
    ['memory', '/proc/self/mem'],
    ['a file of /proc', '/proc/self/environ'],
    ['a file in memory that may not be read', '/tmp/secret'],
    ['a name in memory that is too long', `/tmp/${'n'.repeat(300)}`],
    ['the root of what is in memory', '/tmp/.'],
    ['an empty path', ''],
    ['the workdir with a dot', '.'],
  ])('as the path %s gets words, not an error', async (_name, path) => {
    for (const edit of [
      { command: 'view', path },
      { command: 'create', path, file_text: 'x' },
      { command: 'str_replace', path, old_str: 'a', new_str: 'b' },
      { command: 'insert', path, insert_line: 0, new_str: 'b' },
      { command: 'undo_edit', path },
    ] as const) {
      expect(await world.edit(edit)).toMatch(/./);
    }
    expect(await world.search('x', path)).toMatch(/./);
  });

  it('as a command or term longer than any argument is told', async () => {
    expect((await world.bash(`echo ${'x'.repeat(200_000)} | wc -c`)).text).toMatch(/too long/);
    expect(await world.search('x'.repeat(200_000))).toMatch(/at most 4000 characters/);
    expect((await world.bash('echo still here')).text).toContain('still here');
  });
});

describe('a container in trouble', () => {
  it('in which no command starts any more is told apart from a command that fails', async () => {
    await using own = await agentWorld();
    const daemon = `import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        try:
            if os.fork() == 0: time.sleep(600)
        except OSError:
            time.sleep(0.001)
time.sleep(1)`;
    await own.bash(`python3 - >/dev/null 2>&1 <<'EOF'\n${daemon}\nEOF`);
    await expect(own.bash('true')).rejects.toThrow(ContainerStuckError);
    await expect(own.patch()).rejects.toThrow(ContainerStuckError);
  });

  it('that a time-out took with it is said to be gone', async () => {
    await using own = await agentWorld(1);
    const said = await own.bash('kill -STOP $PPID; sleep 60');
    expect(said).toMatchObject({ lost: true, exitCode: 124, repeat: false });
    expect(said.text).toMatch(/its container was lost; all files are as they were before/);
  });
});
