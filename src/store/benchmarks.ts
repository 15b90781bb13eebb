import { type Kysely, sql } from 'kysely';
import type { Spent } from '../core/budget/budget.js';
import { BadInputError } from '../core/errors/errors.js';
import { RunIdSource } from '../core/identifier.js';
import {
  type Benchmark,
  type BenchmarkCount,
  type BenchmarkPage,
  BenchmarkRun,
  type BenchmarkRunListing,
  BenchmarkStatus,
  BenchmarkStore,
  type BenchmarkSummary,
  GradeDocument,
  type GradedRun,
  type NewBenchmark,
  type RunEffort,
  type RunGrades,
} from '../ports/benchmark-store.js';
import { hasEnded, type OpenRun, type Run, RunStatus } from '../ports/run-store.js';
import type { BenchmarksTable, Database, GradesTable, RunsTable, StoreDialect } from './schema.js';
import { columnsOf, requestColumns, spentColumns } from './run-rows.js';
import { keyText, type StoreGuard } from './statements.js';

const RUN_COLUMNS = [
  ...(['id', 'arm', 'instance_id', 'status', 'alone', 'failure', 'candidate_id', 'deciding_stage'] as const),
  ...(['confidence', 'k', 'tokens', 'cost_usd', 'seconds'] as const),
] as const;
const GRADE_COLUMNS = ['selected_right', 'graded', 'right_candidates', 'ungraded'] as const;
const SUMMARY = ['id', 'title', 'status', 'note', 'created_at', 'updated_at'] as const;
/** Builds without this column left it empty, but gave the runs the same setup. */
const SETUP = sql<string>`coalesce(nullif(setup, ''), (select max(runs.setup) from runs where benchmark = benchmarks.id), '')`;

/** Benchmarks as rows, in any database supported by Kysely. */
export class KyselyBenchmarkStore extends BenchmarkStore {
  private readonly ids = new RunIdSource('bench_');

  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
    private readonly dialect: StoreDialect,
  ) {
    super();
  }

  override async create(key: string, benchmark: NewBenchmark): Promise<Benchmark> {
    const { title, hash, submitter, setup = '' } = benchmark;
    const now = Date.now();
    const times = { created_at: now, updated_at: now };
    const made = { key: keyText(key), request_hash: hash, title: keyText(title), submitter: keyText(submitter) };
    const empty = { status: 'accepting', note: null, plan: '', sealed: '' };
    const row = { id: this.ids.next(now), ...made, ...times, ...empty, setup };
    const insert = this.db
      .insertInto('benchmarks')
      .values(row)
      .onConflict((conflict) => conflict.column('key').doNothing());
    await this.guard.run(() => insert.execute());
    const query = this.db.selectFrom('benchmarks').selectAll().where('key', '=', row.key);
    const held = await this.guard.run(() => query.executeTakeFirst());
    if (held === undefined) return this.create(key, benchmark);
    if (held.request_hash === hash) return benchmarkOf(held);
    const at = { field: 'Idempotency-Key' };
    throw new BadInputError('was used for another benchmark.', at, 'Use a new key for a new benchmark.');
  }

  override async begin(id: string, plan: unknown, sealed: unknown): Promise<boolean> {
    const begun = { plan: JSON.stringify(plan), sealed: JSON.stringify(sealed), status: 'running' };
    const update = this.db
      .updateTable('benchmarks')
      .set({ ...begun, updated_at: Date.now() })
      .where('id', '=', keyText(id))
      .where('status', '=', 'accepting');
    return (await this.guard.run(() => update.executeTakeFirst())).numUpdatedRows > 0n;
  }

  override async get(id: string): Promise<Benchmark | null> {
    const query = this.db
      .selectFrom('benchmarks')
      .select([...SUMMARY, 'plan', 'submitter', SETUP.as('setup')])
      .where('id', '=', keyText(id));
    const row = await this.guard.run(() => query.executeTakeFirst());
    return row === undefined ? null : benchmarkOf(row);
  }

  override async sealed(id: string): Promise<unknown> {
    const query = this.db.selectFrom('benchmarks').select('sealed').where('id', '=', keyText(id));
    const row = await this.guard.run(() => query.executeTakeFirst());
    return JSON.parse(row?.sealed ?? 'null') as unknown;
  }

  override async list(limit: number, before: string | null): Promise<BenchmarkPage> {
    let query = this.db.selectFrom('benchmarks').select(SUMMARY);
    if (before !== null) query = query.where('id', '<', keyText(before));
    const rows = await this.guard.run(() =>
      query
        .orderBy('id', 'desc')
        .limit(limit + 1)
        .execute(),
    );
    const page = rows.slice(0, limit);
    return { benchmarks: page.map(summaryOf), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
  }

  override async change(
    id: string,
    { status, note }: Pick<BenchmarkSummary, 'status' | 'note'>,
    from: readonly BenchmarkStatus[],
  ): Promise<boolean> {
    const update = this.db
      .updateTable('benchmarks')
      .set({ status, note: note === null ? null : keyText(note), updated_at: Date.now() })
      .where('id', '=', keyText(id))
      .where('status', 'in', from);
    return (await this.guard.run(() => update.executeTakeFirst())).numUpdatedRows > 0n;
  }

  override running(): Promise<readonly OpenRun[]> {
    const query = this.db.selectFrom('benchmarks').select(['id', 'submitter', SETUP.as('setup')]);
    return this.guard.run(() => query.where('status', '=', 'running').orderBy('id', 'asc').execute());
  }

  override async adopt(id: string, setup: string, from: string): Promise<boolean> {
    const open = this.db.updateTable('benchmarks').set({ setup }).where('id', '=', keyText(id));
    const query = open.where('status', '=', 'running').where(SETUP, '=', from);
    return (await this.guard.run(() => query.executeTakeFirst())).numUpdatedRows > 0n;
  }

  override async runs(
    id: string,
    { arm, statuses, handed, after, limit }: BenchmarkRunListing = {},
  ): Promise<readonly BenchmarkRun[]> {
    let query = this.withGrades(id).select([...RUN_COLUMNS, ...GRADE_COLUMNS]);
    if (handed !== undefined) query = query.where('alone', '=', handed ? 0 : 1);
    if (arm !== undefined) query = query.where('arm', '=', keyText(arm));
    if (statuses !== undefined) query = query.where('status', 'in', statuses);
    if (after !== undefined) query = query.where('id', '>', keyText(after));
    if (limit !== undefined) query = query.limit(limit);
    return (await this.guard.run(() => query.orderBy('id', 'asc').execute())).map(runOf);
  }

  override async gradable(id: string): Promise<readonly BenchmarkRun[]> {
    const one = sql<number>`1`;
    const isOpen = sql<number>`case when status in ('queued', 'running') then 1 else 0 end`;
    const lacksGrade = sql<number>`case when status = 'done' and run_id is null then 1 else 0 end`;
    const instances = this.withGrades(id)
      .groupBy('instance_id')
      .having((eb) => eb(eb.fn.max(isOpen), '<', one))
      .having((eb) => eb(eb.fn.max(lacksGrade), '=', one))
      .select('instance_id');
    const query = this.withGrades(id).select([...RUN_COLUMNS, ...GRADE_COLUMNS]);
    const own = query.where('instance_id', 'in', instances).orderBy('instance_id', 'asc').orderBy('id', 'asc');
    return (await this.guard.run(() => own.execute())).map(runOf);
  }

  override async counts(id: string): Promise<readonly BenchmarkCount[]> {
    const whole = (value: unknown): number => Number(value ?? 0);
    const query = this.withGrades(id)
      .groupBy(['arm', 'status', 'alone'])
      .orderBy('arm')
      .select((eb) => [
        ...(['arm', 'status', 'alone'] as const),
        eb.fn.countAll().as('runs'),
        eb.fn.count('candidate_id').as('selected'),
        eb.fn.count('run_id').as('graded'),
        eb.fn.sum('selected_right').as('right'),
        eb.fn.count('selected_right').as('known'),
        eb.fn.sum('tokens').as('tokens'),
        eb.fn.sum<number | null>('cost_usd').as('usd'),
      ]);
    return (await this.guard.run(() => query.execute())).map((row) => ({
      arm: row.arm ?? '',
      status: RunStatus.parse(row.status),
      handed: row.alone === 0,
      runs: whole(row.runs),
      selected: whole(row.selected),
      graded: whole(row.graded),
      right: whole(row.right),
      wrong: whole(row.known) - whole(row.right),
      tokens: whole(row.tokens),
      usd: row.usd,
    }));
  }

  override async endings(id: string, limit: number): Promise<readonly number[]> {
    const ended = RunStatus.options.filter(hasEnded);
    const query = this.db.selectFrom('runs').select('updated_at').where('benchmark', '=', keyText(id));
    const newest = query.where('status', 'in', ended).orderBy('updated_at', 'desc').limit(limit);
    return (await this.guard.run(() => newest.execute())).map(({ updated_at }) => updated_at);
  }

  override async efforts(id: string): Promise<ReadonlyMap<string, RunEffort>> {
    const own = this.db.selectFrom('runs').where('benchmark', '=', keyText(id));
    const cells = this.db
      .selectFrom('run_events')
      .where('type', '=', 'cell')
      .where('run_id', 'in', own.select('id'))
      .groupBy('run_id')
      .select(['run_id', sql<number | string>`count(*)`.as('cells')]);
    // Extracts only this number: the answers of a benchmark are tens of megabytes.
    const patches = this.dialect.memberOf('answer', ['statistics', 'distinct_patches']).as('distinct_patches');
    const [answers, executed] = await this.guard.run(() =>
      Promise.all([own.select(['id', patches]).where('answer', 'is not', null).execute(), cells.execute()]),
    );
    const executions = new Map(executed.map(({ run_id, cells: count }) => [run_id, Number(count)]));
    return new Map(
      answers.map(({ id: run, distinct_patches: known }) => [
        run,
        { distinct_patches: Number(known), executions: executions.get(run) ?? 0 },
      ]),
    );
  }

  override async graded(id: string): Promise<readonly GradedRun[]> {
    const query = this.db
      .selectFrom('runs')
      .innerJoin('grades', 'grades.run_id', 'runs.id')
      .where('benchmark', '=', keyText(id))
      .select(['arm', 'selected_right', 'graded', 'right_candidates', 'best']);
    return (await this.guard.run(() => query.execute())).map(({ arm, selected_right, best, ...counts }) => ({
      ...counts,
      arm: arm ?? '',
      right: selected_right === null ? null : selected_right === 1,
      best: best === null ? null : (JSON.parse(best) as number[]),
    }));
  }

  override async hand(runId: string, handed: boolean): Promise<void> {
    const update = this.db
      .updateTable('runs')
      .set({ alone: handed ? 0 : 1 })
      .where('id', '=', keyText(runId));
    await this.guard.run(() => update.execute());
  }

  override async ask(runId: string, request: Run['request'], spent: Spent): Promise<void> {
    const columns = { ...requestColumns(request), ...columnsOf({}) };
    await this.guard.run(() =>
      this.db.transaction().execute(async (trx) => {
        const own = trx
          .updateTable('runs')
          .set((eb) => ({ ...columns, ...spentColumns(eb, spent) }))
          .where('id', '=', keyText(runId))
          .where('alone', '=', 1);
        const { numUpdatedRows: asked } = await own.where('status', 'in', ['queued', 'cancelled']).executeTakeFirst();
        if (asked === 0n) return;
        const document = trx.updateTable('run_documents').set({ request: JSON.stringify(request) });
        await document.where('run_id', '=', keyText(runId)).execute();
      }),
    );
  }

  override async grade(runId: string, grades: RunGrades | null): Promise<void> {
    const run_id = keyText(runId);
    if (grades === null) {
      await this.guard.run(() => this.db.deleteFrom('grades').where('run_id', '=', run_id).execute());
      return;
    }
    const { right, graded, right_candidates, ungraded, best, document } = grades;
    const texts = { best: best === null ? null : JSON.stringify(best), document: JSON.stringify(document) };
    const row = { selected_right: right === null ? null : Number(right), graded, right_candidates, ungraded, ...texts };
    const insert = this.db
      .insertInto('grades')
      .values({ run_id, ...row })
      .onConflict((conflict) => conflict.column('run_id').doUpdateSet(row));
    await this.guard.run(() => insert.execute());
  }

  override async labels(runId: string): Promise<GradeDocument | null> {
    const query = this.db
      .selectFrom('grades')
      .innerJoin('runs', 'runs.id', 'grades.run_id')
      .where('run_id', '=', keyText(runId))
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('runs as other')
              .select('other.id')
              .whereRef('other.benchmark', '=', 'runs.benchmark')
              .whereRef('other.instance_id', '=', 'runs.instance_id')
              .where('other.status', 'in', ['queued', 'running']),
          ),
        ),
      )
      .select('document');
    const row = await this.guard.run(() => query.executeTakeFirst());
    return row === undefined ? null : GradeDocument.parse(JSON.parse(row.document));
  }

  override async delete(id: string): Promise<void> {
    const own = keyText(id);
    await this.guard.run(() =>
      this.db.transaction().execute(async (trx) => {
        // Rows that belong to the runs are deleted by foreign key cascade.
        await trx.deleteFrom('runs').where('benchmark', '=', own).execute();
        await trx.deleteFrom('benchmarks').where('id', '=', own).execute();
      }),
    );
  }

  private withGrades(id: string) {
    return this.db
      .selectFrom('runs')
      .leftJoin('grades', 'grades.run_id', 'runs.id')
      .where('benchmark', '=', keyText(id));
  }
}

function summaryOf(row: Pick<BenchmarksTable, (typeof SUMMARY)[number]>): BenchmarkSummary {
  const { id, title, note, status, created_at, updated_at } = row;
  const time = (ms: number): string => new Date(ms).toISOString();
  const times = { created_at: time(created_at), updated_at: time(updated_at) };
  return { id, title, note, status: BenchmarkStatus.parse(status), ...times };
}

function benchmarkOf(row: Pick<BenchmarksTable, (typeof SUMMARY)[number] | 'plan' | 'submitter' | 'setup'>): Benchmark {
  const plan: unknown = row.plan === '' ? null : JSON.parse(row.plan);
  return { ...summaryOf(row), submitter: row.submitter, setup: row.setup, plan };
}

type Row = Pick<RunsTable, (typeof RUN_COLUMNS)[number]> & {
  readonly [Column in (typeof GRADE_COLUMNS)[number]]: GradesTable[Column] | null;
};

function runOf({ alone, failure, selected_right, ...row }: Row): BenchmarkRun {
  const right = selected_right === null ? null : selected_right === 1;
  return BenchmarkRun.parse({
    ...row,
    handed: alone === 0,
    failure: failure === null ? null : (JSON.parse(failure) as unknown),
    right,
  });
}
