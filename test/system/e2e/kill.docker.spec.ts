import { openSqliteStore } from '../../../src/store/sqlite.js';
import { BASE_CELLS, calculatorRun, CELLS, told } from '../../fixtures/calculator-run.js';
import { ended, type CommandLine } from '../../fixtures/command-line.js';
import { containersOf } from '../../fixtures/containers.js';

type Row = Record<string, unknown>;

/** What one execution is known by, and how long it took, to the millisecond. */
function measured({ candidate_id, suite, test_id, duration_ms }: Row): unknown[] {
  return [candidate_id, suite, test_id, duration_ms];
}

/** Cells in the journal of the store's only run. */
async function journal(cli: CommandLine): Promise<unknown[][]> {
  const store = await openSqliteStore(cli.path('store.sqlite'));
  try {
    const [run] = (await store.runs.list(1, null)).runs;
    const events = await store.runs.events(run?.id ?? '', 0);
    return events.filter(({ type }) => type === 'cell').map(({ data }) => measured(data as Row));
  } finally {
    await store.close();
  }
}

describe('a run that is stopped', () => {
  it('by SIGKILL goes on where it stopped, runs nothing twice, and leaves no container', async () => {
    const { cli, args } = calculatorRun({ BESTK_SANDBOX_CONCURRENCY: '1' });
    const victim = cli.start(args);
    await told(victim, /^(right|b|c): /m);
    victim.kill('SIGKILL');
    await ended(victim);
    const before = await journal(cli);
    // At least one cell of a candidate, but not all of them.
    expect(before.length).toBeGreaterThan(BASE_CELLS);
    expect(before.length).toBeLessThan(CELLS);

    const second = await cli.run(args);
    expect(second.code).toBe(0);
    expect(cli.readJson('out/selection.json')).toMatchObject({ candidate_id: 'right' });
    const cells = cli.readLines('out/matrix.jsonl').map(measured);
    expect(cells).toHaveLength(CELLS);
    expect(cells).toEqual(expect.arrayContaining(before));
    expect(containersOf(victim.pid)).toEqual([]);
  }, 180_000);

  it('by SIGINT removes its containers, exits 130, and goes on with the same command', async () => {
    const { cli, args } = calculatorRun({ BESTK_SANDBOX_CONCURRENCY: '1' });
    const child = cli.start(args);
    const end = ended(child);
    await told(child, /base: regression/);
    const asked = performance.now();
    child.kill('SIGINT');
    expect((await end).code).toBe(130);
    expect(performance.now() - asked).toBeLessThan(5_000);
    expect(containersOf(child.pid)).toEqual([]);

    expect((await cli.run(args)).code).toBe(0);
    expect(cli.readJson('out/selection.json')).toMatchObject({ candidate_id: 'right' });
  }, 180_000);

  it('leaves nothing for sweep to find but what is nobody’s any more', async () => {
    const { cli, args } = calculatorRun({ BESTK_SANDBOX_CONCURRENCY: '1' });
    const victim = cli.start(args);
    await told(victim, /base: regression/);
    victim.kill('SIGKILL');
    await ended(victim);
    const { code, stdout } = await cli.run(['sweep', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toHaveProperty('removed');
    expect(containersOf(victim.pid)).toEqual([]);
  }, 180_000);
});
