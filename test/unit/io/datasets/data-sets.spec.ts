import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BadInputError } from '../../../../src/core/errors/errors.js';
import { type DataSetInstance, readDataSet, SET_READERS, setReaderOf } from '../../../../src/io/datasets/data-set.js';
import { describeDataSet } from '../../../../src/io/datasets/filter.js';
import { imageTemplates, type DataRow } from '../../../../src/io/datasets/rows.js';
import { CANARY, DATA_SET_ROWS, parquet } from '../../../fixtures/data-sets.js';

const folder = mkdtempSync(join(tmpdir(), 'bestk-datasets-'));
let made = 0;

function written(name: string, content: string | Uint8Array): string {
  const path = join(folder, `${(made += 1)}-${name}`);
  writeFileSync(path, content);
  return path;
}

const lines = (...rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

async function instances(path: string, image: readonly string[] = []): Promise<DataSetInstance[]> {
  const found: DataSetInstance[] = [];
  for await (const read of readDataSet(path, { images: imageTemplates(image) })) {
    if ('problem' in read) throw read.problem;
    found.push(read);
  }
  return found;
}

const EXPECTED = {
  verified: ['swe-bench', 'example__calc-1', 'swebench/sweb.eval.x86_64.example_1776_calc-1', '/testbed'],
  multilingual: ['swe-bench', 'example__calc-1', 'swebench/sweb.eval.x86_64.example_1776_calc-1', '/testbed'],
  live: ['swe-bench-live', 'example__calc-1', 'starryzhang/sweb.eval.x86_64.example_1776_calc-1', '/testbed'],
  multilang: ['swe-bench-live', 'example__calc-1', 'starryzhang/sweb.eval.x86_64.example_1776_calc-1', '/testbed'],
  pro: [
    'swe-bench-pro',
    DATA_SET_ROWS.pro.instance_id,
    'jefzda/sweap-images:nodebb.nodebb-NodeBB__NodeBB-0123456789abcdef0123456789abcdef01234567',
    '/app',
  ],
  r2e: ['r2e-gym', 'namanjain12/calc_final:0123456789abcdef', 'namanjain12/calc_final:0123456789abcdef', '/testbed'],
  gym: ['swe-gym', 'dask__dask-10380', 'xingyaoww/sweb.eval.x86_64.dask_s_dask-10380', '/testbed'],
  smith: ['swe-smith', DATA_SET_ROWS.smith.instance_id, DATA_SET_ROWS.smith.image_name, '/testbed'],
  rebench: ['swe-rebench', 'example__calc-1', 'swerebench/sweb.eval.x86_64.example_1776_calc-1', '/testbed'],
  rebenchV2: ['swe-rebench', 'example__calc-1', 'docker.io/swerebenchv2/example-calc:1-abcdef0', '/calc'],
  multi: ['multi-swe-bench', 'cli__Cli-7', 'mswebench/cli_m_cli:pr-7', '/home/Cli'],
  bestk: ['bestk', 'example__calc-9', 'example/calc:1', '/src'],
} as const;
type Name = keyof typeof EXPECTED;
const NAMES = Object.keys(EXPECTED) as Name[];

describe('data sets', () => {
  it.each(NAMES)('are told by their columns: %s', async (name) => {
    const [instance] = await instances(written('rows.jsonl', lines(DATA_SET_ROWS[name])));
    const [set, id, image, workdir] = EXPECTED[name];
    expect(instance).toMatchObject({ set, issue: { instance_id: id, environment: { image, workdir } } });
    expect(instance?.issue.problem_statement).toContain('add(1, 1) gives 0 instead of 2.');
  });

  it.each(NAMES)('keep what tells an answer sealed: %s', async (name) => {
    const path = written('rows.jsonl', lines(DATA_SET_ROWS[name]));
    const [instance] = await instances(path);
    const { issue, ...rest } = instance as DataSetInstance;
    const { setup_patch, hidden_paths, ...environment } = issue.environment;
    expect(JSON.stringify([{ ...issue, environment }, rest])).not.toContain(CANARY);
    expect(JSON.stringify(await describeDataSet(path, {}, 1))).not.toContain(CANARY.slice(0, -1));
    // Only what has to be done to the image of a SWE-smith instance tells of it.
    expect(JSON.stringify([setup_patch, hidden_paths]).includes(CANARY)).toBe(name === 'smith');
    const { tests, gold } = rest.sealed.open();
    expect([...(tests?.failToPass ?? [])].join()).toContain(CANARY);
    expect(gold === null).toBe(['r2e', 'bestk'].includes(name));
  });

  it.each(NAMES)('have no column that nobody knows: %s', (name) => {
    const reader = setReaderOf(DATA_SET_ROWS[name]);
    const columns = Object.keys(DATA_SET_ROWS[name]);
    expect(columns.filter((column) => reader?.columns[column] === undefined)).toEqual([]);
    const sealed = columns.filter((column) => reader?.columns[column] === 'sealed');
    const telling = Object.entries(DATA_SET_ROWS[name]).filter(([, value]) => JSON.stringify(value).includes(CANARY));
    expect(sealed).toEqual(expect.arrayContaining(telling.map(([column]) => column)));
  });

  it.each(NAMES)('read alike from parquet and JSON: %s', async (name) => {
    const [json] = await instances(written('rows.jsonl', lines(DATA_SET_ROWS[name])));
    const [columns] = await instances(written('rows.parquet', parquet(DATA_SET_ROWS[name])));
    expect({ ...columns, facts: null }).toEqual({ ...json, facts: null });
    expect(columns?.sealed.open()).toEqual(json?.sealed.open());
  });

  it('say how their tests are run where the rows do', async () => {
    const tests = async (name: Name) =>
      (await instances(written('rows.jsonl', lines(DATA_SET_ROWS[name]))))[0]?.sealed.open().tests;
    expect(await tests('live')).toMatchObject({ command: 'pytest -rA', log: 'pytest' });
    expect(await tests('multilang')).toMatchObject({
      command: 'go build ./...\ngo test -v ./... > log 2>&1; ended=$?\ncat log\n(exit $ended)',
      log: null,
    });
    expect(await tests('rebench')).toMatchObject({
      command: 'pytest --no-header -rA --tb=line {files}',
      log: 'parse_log_pytest',
    });
    expect(await tests('r2e')).toMatchObject({ failToPass: [`TestAdd.test_${CANARY}`], testPatch: null });
    expect((await tests('pro'))?.command).toContain("run_script.sh 'test/calc.js' >");
    expect(await tests('multi')).toMatchObject({ command: 'bash /home/run.sh', log: 'go', passToPass: ['TestOld'] });
  });

  it.each([
    ['a list as numpy prints it', "['t.py::a' \"t.py::it's\"\n 't.py::c']", ['t.py::a', "t.py::it's", 't.py::c']],
    ['an array of numpy', "array(['t.py::a', 't.py::b'], dtype=object)", ['t.py::a', 't.py::b']],
    ['a list with escapes', "['t.py::a[\\x1b-\\n-\\\\n]']", ['t.py::a[\x1b-\n-\\n]']],
  ])('tell their tests in %s', async (_, FAIL_TO_PASS, failToPass) => {
    const [instance] = await instances(written('rows.jsonl', lines({ ...DATA_SET_ROWS.verified, FAIL_TO_PASS })));
    expect(instance?.sealed.open().tests).toMatchObject({ failToPass });
  });

  it('say nothing of a test by a column that is null, and take the language from the patch where they do not say it', async () => {
    const { fix_patch, p2p_tests } = DATA_SET_ROWS.multi;
    const inGo = { fix_patch: fix_patch.replace(/\.\w+$/gm, '.go'), lang: undefined };
    const row = { ...DATA_SET_ROWS.multi, ...inGo, p2p_tests: { ...p2p_tests, TestOfAnother: null } };
    const [instance] = await instances(written('rows.jsonl', lines(row)));
    expect(instance?.sealed.open().tests).toMatchObject({ passToPass: ['TestOld'], log: 'go' });
  });

  it('have lists of records that were saved as records of lists', async () => {
    const { multi } = DATA_SET_ROWS;
    const issues = { number: [1, 2], title: ['Sum is wrong', null], body: ['add(1, 1) gives 0.', 'It should be 2.'] };
    const [instance] = await instances(written('rows.jsonl', lines({ ...multi, resolved_issues: issues })));
    expect(instance?.issue.problem_statement).toBe('Sum is wrong\n\nadd(1, 1) gives 0.\n\nIt should be 2.');
  });

  it('reject a row that does not say what is to be solved, under the name of its column', async () => {
    const { smith, multi } = DATA_SET_ROWS;
    const rows = lines({ ...smith, problem_statement: ' \n' }, { ...multi, resolved_issues: {} });
    const report = await describeDataSet(written('rows.jsonl', rows), {}, 5);
    expect(report).toMatchObject({ rows: 2, usable: 0 });
    expect(report.rejected.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/line 1, field "problem_statement": is empty/),
      expect.stringMatching(/line 2, field "resolved_issues"/),
    ]);
  });

  it('are read from a list, packed files and folders with splits', async () => {
    const { verified, gym } = DATA_SET_ROWS;
    expect(await instances(written('rows.json', JSON.stringify([verified, gym], null, 1)))).toHaveLength(2);
    expect(await instances(written('rows.jsonl.gz', gzipSync(lines(verified, gym))))).toHaveLength(2);
    const download = join(folder, 'download');
    mkdirSync(join(download, 'data'), { recursive: true });
    writeFileSync(join(download, 'README.md'), '# a card');
    writeFileSync(join(download, 'dataset_info.json'), '{}');
    writeFileSync(join(download, 'data', 'dev-00000-of-00001.parquet'), parquet(gym));
    writeFileSync(join(download, 'data', 'test-00000-of-00001.parquet'), parquet(verified));
    expect((await instances(download)).map(({ split, issue }) => [split, issue.instance_id])).toEqual([
      ['test', 'example__calc-1'],
    ]);
    const dev: unknown[] = [];
    for await (const read of readDataSet(download, { split: 'dev' })) dev.push(read);
    expect(dev).toMatchObject([{ split: 'dev', set: 'swe-gym' }]);
    await expect(readDataSet(download, { split: 'train' }).next()).rejects.toMatchObject({
      next: 'It contains: dev, test',
    });
  });

  it('are one set in a folder whose files no split is named after', async () => {
    const { multi } = DATA_SET_ROWS;
    const download = join(folder, 'multi');
    for (const [index, name] of ['go/cli__cli_dataset.jsonl', 'java/alibaba__fastjson2_dataset.jsonl'].entries()) {
      mkdirSync(join(download, dirname(name)), { recursive: true });
      writeFileSync(join(download, name), lines({ ...multi, instance_id: undefined, number: index + 1 }));
    }
    expect((await instances(download)).map(({ split, issue }) => [split, issue.instance_id])).toEqual([
      [null, 'cli__Cli-1'],
      [null, 'cli__Cli-2'],
    ]);
    const other: unknown[] = [];
    for await (const read of readDataSet(download, { split: 'cli__cli_dataset' })) other.push(read);
    expect(other).toHaveLength(1);
  });

  it('are of the split before a shard’s number, also if a hash follows', async () => {
    const { verified, gym } = DATA_SET_ROWS;
    const download = join(folder, 'hashed');
    mkdirSync(download);
    writeFileSync(join(download, 'dev-00000-of-00001-0a9b8c7d6e5f4a3b.parquet'), parquet(gym));
    writeFileSync(join(download, 'test-00000-of-00001-dc7762b94638c186.parquet'), parquet(verified));
    expect((await instances(download)).map(({ split }) => split)).toEqual(['test']);
  });

  it('of SWE-smith in another language hide no path and have no command', async () => {
    const row = { ...DATA_SET_ROWS.smith, FAIL_TO_PASS: ['TestAdd', 'TestAdd/sub'], PASS_TO_PASS: ['TestSub'] };
    const [instance] = await instances(written('smith-go.jsonl', lines(row)));
    expect(instance?.issue.environment.hidden_paths).toEqual([]);
    expect(() => instance?.sealed.open()).toThrow(
      /names no tests of pytest, and the row does not say how to run others/,
    );
  });

  it('reject what cannot be used by file, row and reason, and go on', async () => {
    const { verified } = DATA_SET_ROWS;
    const path = written(
      'rows.jsonl',
      lines(verified, { ...verified, instance_id: 'b__b-2', problem_statement: 5 }, verified, { question: 'x' }) +
        '{oops\n',
    );
    const report = await describeDataSet(path, {}, 5);
    expect(report).toMatchObject({ rows: 5, usable: 1, with_hidden_tests: 1 });
    expect(report.rejected.map(({ file, row, reason }) => [file, row, reason.replace(`${path}, `, '')])).toEqual([
      [path, 2, expect.stringMatching(/^line 2, field "problem_statement"/)],
      [path, 3, expect.stringMatching(/"example__calc-1" already occurs on line 1/)],
      [path, 4, expect.stringMatching(/^line 4, field "instance_id"/)],
      [path, 5, expect.stringMatching(/^line 5: is not JSON/)],
    ]);
  });

  it('tell columns that nobody knows, which can still be filtered by', async () => {
    const row = { ...DATA_SET_ROWS.verified, my_tag: 'hard' };
    const path = written('rows.jsonl', lines(row));
    const report = await describeDataSet(path, {}, 1);
    expect(report.columns).toContainEqual({ name: 'my_tag', use: 'unknown', rows: 1 });
    expect(report.columns).toContainEqual({ name: 'patch', use: 'sealed', rows: 1 });
    expect(report.instances[0]?.facts).toMatchObject({ my_tag: 'hard', version: '3.2', difficulty: '<15 min fix' });
  });

  it('refuse damaged parquet, empty folders and labels that are none', async () => {
    const sound = parquet(DATA_SET_ROWS.verified);
    const boundless = sound.slice();
    // The length of the footer.
    new DataView(boundless.buffer).setUint32(boundless.length - 8, 0x7fffffff, true);
    for (const damaged of [sound.slice(0, 200), boundless]) {
      await expect(instances(written('damaged.parquet', damaged))).rejects.toMatchObject({
        message: expect.stringMatching(/damaged\.parquet: is not a readable parquet file: /) as string,
        next: 'Download the file again.',
      });
    }
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    await expect(instances(empty)).rejects.toThrow(/contains no data files/);
    const [odd] = await instances(written('odd.jsonl', lines({ ...DATA_SET_ROWS.verified, FAIL_TO_PASS: 'x' })));
    expect(() => odd?.sealed.open()).toThrow(/line 1, field "FAIL_TO_PASS": must be a list of names/);
  });

  it('are recognised by one reader alone where it matters', () => {
    for (const name of NAMES) {
      const known = SET_READERS.filter((reader) => reader.recognises(DATA_SET_ROWS[name] as DataRow['value']));
      expect([name, known[0]?.set]).toEqual([name, EXPECTED[name][0]]);
    }
  });
});

describe('image templates', () => {
  it('win over the row, for all repositories or one', async () => {
    const path = written('rows.jsonl', lines(DATA_SET_ROWS.verified, DATA_SET_ROWS.gym));
    const images = async (...image: string[]): Promise<(string | undefined)[]> =>
      (await instances(path, image)).map(({ issue }) => issue.environment.image);
    expect(await images('mirror.local/{image_name}')).toEqual([
      'mirror.local/swebench/sweb.eval.x86_64.example_1776_calc-1',
      'mirror.local/xingyaoww/sweb.eval.x86_64.dask_s_dask-10380',
    ]);
    expect(await images('my/{repo}:{instance_id}', 'dask/dask=mine:1')).toEqual([
      'my/example/calc:example__calc-1',
      'mine:1',
    ]);
  });

  it('are refused with an unknown placeholder, or two for the same', () => {
    expect(() => imageTemplates(['a:{tag}'])).toThrow(BadInputError);
    expect(() => imageTemplates(['a:1', 'b:1'])).toThrow(/is set twice/);
  });
});
