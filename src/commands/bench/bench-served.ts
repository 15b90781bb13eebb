import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { ArmBasics, type SentBench } from '../../benchmarks/plan.js';
import { pause } from '../../core/async/time.js';
import { BadInputError, EXIT, InterruptedError, ToldError, UnavailableError } from '../../core/errors/errors.js';
import { grouped } from '../../core/grouped.js';
import { visibleLine } from '../../core/hostile-text.js';
import { readSealed, setReaderOf } from '../../io/datasets/data-set.js';
import type { DataRow } from '../../io/datasets/rows.js';
import { makeFolder, prepareFolder, writeWhole } from '../../reports/write-run.js';
import { BenchmarkAccepted, BenchmarkView } from '../../runs/benchmark-service.js';
import { printProgress, standingLine } from '../output.js';
import { type ChosenInstance, chosenInstances, ruleOf, savedInputs } from './bench-options.js';
import {
  agentsOf,
  type Arm,
  armFolder,
  type BenchPlan,
  readState,
  type ServedState,
  writeState,
} from './bench-plan.js';

const LOOK_EVERY_MS = 2_000;
/** Time allowed for a service to restart. */
const PATIENCE_MS = 300_000;

class ServiceUnavailableError extends UnavailableError {
  readonly code = 'service-unavailable';
  readonly retryable = true;
}

/** Client for the benchmarks of a bestk service. */
export class BenchService {
  /** @param key its API key; null = none is needed */
  constructor(
    readonly server: string,
    private readonly key: string | null,
  ) {}

  async send(file: string, idempotencyKey: string): Promise<BenchmarkAccepted> {
    const headers = { 'content-type': 'application/gzip', 'idempotency-key': idempotencyKey };
    const body = Readable.toWeb(createReadStream(file)) as ReadableStream;
    const answer = await this.ask('', { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    return BenchmarkAccepted.parse(await answer.json());
  }

  async get(id: string): Promise<BenchmarkView> {
    return BenchmarkView.parse(await (await this.ask(`/${id}`)).json());
  }

  async resume(id: string): Promise<void> {
    await this.ask(`/${id}/resume`, { method: 'POST' });
  }

  async report(id: string, type: string): Promise<string> {
    return (await this.ask(`/${id}/report`, { headers: { accept: type } })).text();
  }

  async predictions(id: string, arm: string): Promise<string> {
    return (await this.ask(`/${id}/predictions?arm=${encodeURIComponent(arm)}`)).text();
  }

  /** @throws BadInputError, ServiceUnavailableError */
  private async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.key !== null) headers.set('authorization', `Bearer ${this.key}`);
    // A redirect is refused, since another server must get neither the key nor hidden tests.
    const asked = fetch(`${this.server}/v1/benchmarks${path}`, { ...init, headers, redirect: 'error' });
    const answer = await asked.catch((error: unknown) => {
      const { cause, message } = error as Error;
      const why = cause instanceof Error ? cause.message || cause.name : message;
      throw new ServiceUnavailableError(
        `${this.server} does not answer: ${why}`,
        'Check that the service is running there.',
      );
    });
    if (answer.ok) return answer;
    const said = Said.safeParse(await answer.json().catch(() => null)).data ?? { detail: `HTTP ${answer.status}` };
    const { detail, code = 'bad-input', next = 'Look at the log of the service.' } = said;
    if (answer.status >= 500 || answer.status === 429) throw new ServiceUnavailableError(detail, next);
    if (answer.status === 401)
      throw new BadInputError(detail, { field: '--api-key' }, 'Set BESTK_API_KEY to a valid key.');
    throw new ToldError({ code, message: detail, next });
  }
}

const Said = z.object({ detail: z.string(), code: z.string().optional(), next: z.string().optional() });

/** Sends a benchmark to a service, or continues the same one there. @throws BadInputError, UnavailableError */
export async function startServed(plan: BenchPlan, out: string, service: BenchService): Promise<ServedState> {
  const known = await readState(out);
  if (known?.kind === 'bestk-bench') {
    throw new BadInputError('contains a local benchmark.', { file: out }, 'Name another folder with --out.');
  }
  const bench = await sentBench(plan);
  const instances = await chosenInstances(plan);
  await prepareFolder(out);
  const upload = join(out, 'upload.jsonl.gz');
  const imports = join(out, 'imported');
  const hash = createHash('sha256');
  try {
    const lines = uploadOf(plan, bench, instances, imports);
    await pipeline(Readable.from(hashed(lines, hash)), createGzip(), createWriteStream(upload, { mode: 0o600 }));
    const accepted = await service.send(upload, `bench ${hash.digest('hex')}`);
    const { id, runs, skipped, rejected } = accepted;
    printProgress(`Benchmark ${id} at ${service.server}: ${runs} runs, ${skipped} skipped`);
    for (const row of rejected.first) printProgress(`Left out: ${visibleLine(row)}`);
    const state: ServedState = { kind: 'bestk-bench-served', server: service.server, id };
    await writeState(out, state);
    return state;
  } finally {
    await rm(upload, { force: true });
    await rm(imports, { recursive: true, force: true });
  }
}

/** The bench file without parts that exist only on this machine. @throws BadInputError for a part that cannot be sent */
async function sentBench({
  arms,
  title,
  image,
  budget,
  concurrency,
  max_failures,
  grade,
}: BenchPlan): Promise<z.input<typeof SentBench>> {
  const settled = arms.findIndex(({ settings }) => Object.keys(settings).length > 0);
  if (settled !== -1) {
    const next = 'Leave it out, or start a service with these settings.';
    throw new BadInputError('only works locally.', { field: `arms.${settled}.settings` }, next);
  }
  if (grade !== false && grade.run_scripts !== undefined) {
    const next = 'Leave them out, and grade the candidates with `bestk grade`.';
    throw new BadInputError('only work locally.', { field: 'grade.run_scripts' }, next);
  }
  const sent = arms.map(async (arm) => {
    const { agent, agents, settings: elsewhere } = agentsOf(arm);
    if (Object.keys(elsewhere).length > 0) {
      const next = 'Leave it out, and set BESTK_MODEL_URLS of the service.';
      throw new BadInputError('only works locally.', { field: `arms.${arm.name}.endpoint` }, next);
    }
    return {
      ...z.object(ArmBasics).parse(arm),
      agent,
      ...(agents === undefined ? {} : { agents: [...agents] }),
      ...(await ruleOf(arm)),
      candidates: arm.candidates !== undefined,
    };
  });
  const { time_limit_s, test_command } = grade === false ? {} : grade;
  return {
    ...{ title, image, budget, concurrency, max_failures, arms: await Promise.all(sent) },
    grade: grade === false ? false : { time_limit_s, test_command },
  };
}

async function* hashed(lines: AsyncIterable<unknown>, hash: ReturnType<typeof createHash>): AsyncGenerator<string> {
  for await (const line of lines) {
    const text = `${JSON.stringify(line)}\n`;
    hash.update(text);
    yield text;
  }
}

/** Bench file, rows, and the inputs of each arm; arms with the same files share their lines. */
async function* uploadOf(
  plan: BenchPlan,
  bench: z.input<typeof SentBench>,
  instances: readonly ChosenInstance[],
  imports: string,
): AsyncGenerator {
  yield bench;
  yield* sentRows(plan, instances);
  const ids = instances.map(({ issue }) => issue.instance_id);
  const alike = grouped(plan.arms, ({ candidates, tests }) => JSON.stringify([candidates ?? null, tests ?? null]));
  for (const [index, [, own]] of [...alike].entries()) {
    const [first] = own;
    if (first === undefined) continue;
    const arms = own.map(({ name }) => name);
    for await (const line of linesOf(first, ids, join(imports, String(index)))) yield { arms, ...line };
  }
}

async function* linesOf(arm: Arm, ids: readonly string[], folder: string): AsyncGenerator<object> {
  if (arm.candidates === undefined && arm.tests === undefined) return;
  const inputOf = await savedInputs(arm, ids, folder);
  for (const id of ids) {
    const { candidates, tests } = await inputOf(id).catch((error: unknown) => {
      // The service reports candidates that are missing.
      if (error instanceof BadInputError) return { candidates: [], tests: [] };
      throw error;
    });
    for (const candidate of candidates ?? []) yield { candidate };
    for (const test of tests ?? []) yield { test };
  }
}

/** The rows of the data set, joined with hidden tests from a separate file. @throws BadInputError */
async function* sentRows({ grade }: BenchPlan, instances: readonly ChosenInstance[]): AsyncGenerator<DataRow['value']> {
  const file = grade === false ? undefined : grade.hidden_tests;
  const wanted = new Set(instances.map(({ issue }) => issue.instance_id));
  const hidden = new Map<string, DataRow['value']>();
  if (file !== undefined) {
    for await (const { instance_id, row } of readSealed(file))
      if (wanted.has(instance_id)) hidden.set(instance_id, row.value);
  }
  for (const { issue, row } of instances) {
    const apart = hidden.get(issue.instance_id);
    yield apart === undefined ? row.value : joined(row.value, apart, file);
  }
}

function joined(row: DataRow['value'], hidden: DataRow['value'], file: string | undefined): DataRow['value'] {
  const reader = setReaderOf(row);
  const open = Object.entries(row).filter(([column]) => reader?.columns[column] !== 'sealed');
  const both = { ...hidden, ...Object.fromEntries(open) };
  if (setReaderOf(both) === reader) return both;
  const next = 'Put the hidden tests into the rows of the data set, or run it without --server.';
  throw new BadInputError('has rows of another data set, which cannot be sent together.', { file }, next);
}

/**
 * Follows a benchmark to its end, resumes it if it failed or was stopped before, and writes its report. When interrupted, it
 * leaves the benchmark running at the service. @returns the exit code @throws InterruptedError
 */
export async function followServed({ id }: ServedState, out: string, service: BenchService): Promise<number> {
  const before = await service.get(id);
  const hasFailed = before.arms.some(({ failed, cancelled }) => failed + cancelled > 0);
  if (before.status !== 'running' && (before.status !== 'done' || before.note !== null || hasFailed))
    await service.resume(id);
  const left = new AbortController();
  const leave = (): void => {
    left.abort(new InterruptedError(`Left: benchmark ${id} continues at ${service.server}.`));
  };
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    const view = await untilOver(id, service, left.signal);
    await fetchReport(view, out, service);
    return exitOf(view);
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
  }
}

async function untilOver(id: string, service: BenchService, signal: AbortSignal): Promise<BenchmarkView> {
  let answered = Date.now();
  for (let told = ''; ;) {
    if (told !== '') await pause(LOOK_EVERY_MS, signal);
    const view = await service.get(id).catch((error: unknown) => {
      if (!(error instanceof UnavailableError) || Date.now() - answered > PATIENCE_MS) throw error;
      return error;
    });
    if (view instanceof UnavailableError) {
      if (told !== view.message) printProgress(`${visibleLine(view.message)} Retrying.`);
      told = view.message;
      continue;
    }
    answered = Date.now();
    const now = JSON.stringify([view.status, view.arms]);
    if (now !== told) printProgress(lineOf(view));
    told = now;
    if (['done', 'failed', 'cancelled'].includes(view.status)) return view;
  }
}

function lineOf({ status, note, arms, eta_s: eta }: BenchmarkView): string {
  const sum = (value: (arm: BenchmarkView['arms'][number]) => number): number =>
    arms.reduce((total, arm) => total + value(arm), 0);
  const right = sum((arm) => arm.right);
  const line = standingLine({
    states: {
      waiting: sum((arm) => arm.waiting),
      'under way': sum((arm) => arm.queued + arm.running),
      selected: sum((arm) => arm.selected),
      'without a patch': sum((arm) => arm.none),
      failed: sum((arm) => arm.failed),
      cancelled: sum((arm) => arm.cancelled),
      skipped: sum((arm) => arm.skipped),
      'with an unknown label': sum((arm) => arm.unknown),
    },
    failed: {},
    outcomes: { right, of: right + sum((arm) => arm.wrong) },
    ...{ tokens: sum((arm) => arm.tokens), usd: sum((arm) => arm.cost_usd ?? 0), eta },
  });
  return `${status}: ${line}${note === null ? '' : ` (${visibleLine(note)})`}`;
}

/** Writes the predictions of each arm, report.json, report.html and issues.csv. */
export async function fetchReport({ id, arms }: BenchmarkView, out: string, service: BenchService): Promise<void> {
  for (const { arm } of arms) {
    await makeFolder(armFolder(out, arm));
    await writeWhole(join(armFolder(out, arm), 'predictions.jsonl'), await service.predictions(id, arm));
  }
  const folder = join(out, 'report');
  await makeFolder(folder);
  await writeWhole(join(folder, 'report.json'), await service.report(id, 'application/json'));
  await writeWhole(join(folder, 'issues.csv'), await service.report(id, 'text/csv'));
  const page = await service.report(id, 'text/html');
  // Makes its relative links lead to the service.
  await writeWhole(join(folder, 'report.html'), page.replaceAll('href="/#/', `href="${service.server}/#/`));
}

function exitOf({ status, arms }: BenchmarkView): number {
  const all = (value: (arm: BenchmarkView['arms'][number]) => number): number =>
    arms.reduce((total, arm) => total + value(arm), 0);
  if (status !== 'done' || all(({ failed, cancelled }) => failed + cancelled) > 0) return EXIT.unavailable;
  return all(({ selected, none }) => selected + none) === 0 ? EXIT.badInput : EXIT.done;
}
