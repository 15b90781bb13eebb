import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, closeSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRecords, type Located } from '../../../src/io/records/records.js';

const folder = mkdtempSync(join(tmpdir(), 'bestk-records-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function file(content: string | Uint8Array): string {
  const path = join(folder, 'input');
  writeFileSync(path, content);
  return path;
}

async function records(content: string | Uint8Array): Promise<Omit<Located, 'file'>[]> {
  const found: Omit<Located, 'file'>[] = [];
  const path = file(content);
  for await (const { file: from, ...record } of readRecords(path)) {
    expect(from).toBe(path);
    found.push(record);
  }
  return found;
}

describe('the records of a file', () => {
  it('stand on lines, blank ones counted', async () => {
    expect(await records('\n{"a":1}\r\n  \n{"a":2}')).toEqual([
      { line: 2, value: { a: 1 } },
      { line: 4, value: { a: 2 } },
    ]);
  });

  it('stand in lists, on one line or over many', async () => {
    const values = [{ a: 1 }, { a: 2 }];
    const [one, other] = [0, 1].map((index) => ({ index, value: values[index] }));
    expect(await records(JSON.stringify(values))).toEqual([
      { line: 1, ...one },
      { line: 1, ...other },
    ]);
    expect(await records(`\ufeff${JSON.stringify(values, null, 2)}`)).toEqual([one, other]);
    expect(await records('[{"a": 1},\n\n{"a": 2}]')).toEqual([one, other]);
  });

  it('stand under keys, whatever these are called', async () => {
    const text = '{"__proto__": {"a": 1}, "constructor": {"a": 2}}';
    expect((await records(text)).map(({ key, value }) => [key, value])).toEqual([
      ['__proto__', { a: 1 }],
      ['constructor', { a: 2 }],
    ]);
    expect(Object.prototype).not.toHaveProperty('a');
  });

  it('may be one object over many lines, members of its own and all', async () => {
    const value = { id: 'x', more: { a: 1 } };
    expect(await records(JSON.stringify(value, null, 2))).toEqual([{ value }]);
  });

  it('may be no objects at all: that is for the reader to say', async () => {
    expect((await records('null\n1\n"x"')).map(({ value }) => value)).toEqual([null, 1, 'x']);
  });
});

describe('a file that cannot be read', () => {
  const utf8 = (...bytes: number[]): Uint8Array => Buffer.from(bytes);

  it.each<[string, string | Uint8Array, RegExp]>([
    ['a broken line', '{"a":1}\n\n{"a"\n', /input, line 3: is not JSON/],
    ['a broken first line of several', '{"a":\n{"a":1}\n', /input, line 1: is neither JSON nor JSONL/],
    ['a broken document', '{\n  "a": 1,\n\n  "b" 2\n}\n', /input, line 4: is neither JSON nor JSONL/],
    [
      'a word in a document',
      '[\n  {"a": 1},\n  oops,\n  {"a": 2}\n]\n',
      /input, line 3: is neither.*oops|line 3.*token/,
    ],
    ['a document that ends too early', '{\n  "a": 1,\n', /input, line 2: is neither JSON nor JSONL: .*JSON/],
    ['prose', 'Here are the candidates:\n', /input, line 1: is neither JSON nor JSONL/],
    ['a binary file', utf8(0x1f, 0x8b, 0x08, 0x00), /input, line 1: is not valid UTF-8/],
    ['bytes of another encoding', Buffer.from('{"a":1}\n{"a":"caf\xe9"}\n', 'latin1'), /line 2: is not valid UTF-8/],
    ['a character that is cut off', utf8(0x22, 0xe2, 0x82), /line 1: is not valid UTF-8/],
    ['a byte-order mark alone', '\ufeff\n', /has no records/],
  ])('%s: tells where', async (_name, content, words) => {
    await expect(records(content)).rejects.toThrow(words);
  });

  it('is told by name where it is beneath another file', async () => {
    const read = readRecords(join(file('{}'), 'below'));
    await expect(read.next()).rejects.toThrow(/below: cannot be read/);
  });

  it('may not hold a line without end', async () => {
    const path = join(folder, 'endless');
    writeFileSync(path, Buffer.alloc(70 * 1024 * 1024, 'x'));
    await expect(readRecords(path).next()).rejects.toThrow(/endless, line 1: is longer than 64 MB/);
    rmSync(path);
  });
});

function sourceOf(path: string): string {
  return new URL(`../../../${path}`, import.meta.url).href;
}

describe('a large file', () => {
  it('is read a line at a time: of 256 MB one candidate stays', async () => {
    const path = join(folder, 'large');
    const handle = openSync(path, 'w');
    const patch = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 256; n += 1) {
      const record = { instance_id: n === 50 ? 'wanted' : `other-${n}`, candidate_id: 'c', patch };
      writeSync(handle, `${JSON.stringify(record)}\n`);
    }
    closeSync(handle);
    const program = `
      import { readAllCandidates } from ${JSON.stringify(sourceOf('src/io/inputs/candidates.ts'))};
      const found = await readAllCandidates(${JSON.stringify(path)}, ['wanted']);
      console.log(found.get('wanted').length);`;
    const loader = sourceOf('test/run-typescript.mjs');
    const limits = ['--max-old-space-size=96', '--import', loader, '--input-type=module', '-e', program];
    expect(spawnSync(process.execPath, limits, { encoding: 'utf8' })).toMatchObject({ stdout: '1\n', status: 0 });
    rmSync(path);
  });
});
