import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  armRequest,
  type BenchmarkPlan,
  checkDollars,
  readSentBench,
  type SavedInput,
  type SentArm,
  type SentBench,
} from '../../benchmarks/plan.js';
import { BadInputError } from '../../core/errors/errors.js';
import type { RunRequest } from '../../core/run/run-request.js';
import { type DataSetInstance, readDataSet } from '../../io/datasets/data-set.js';
import { filtered } from '../../io/datasets/filter.js';
import { imageTemplates } from '../../io/datasets/rows.js';
import { readAllTests } from '../../io/inputs/candidates.js';
import { ImportedFolder } from '../../io/saved-runs/imported-folder.js';
import { UPLOAD_BOUNDS } from '../../io/saved-runs/saved-run.js';
import type { HostResources } from '../../ports/sandbox.js';
import { writeImport } from '../../reports/write-import.js';
import type { BenchmarkStore } from '../../ports/benchmark-store.js';
import {
  type BenchmarkAccepted,
  BenchmarkIntake,
  type BenchmarkService,
  type BenchmarkWish,
} from '../../runs/benchmark-service.js';
import type { RunChecks } from '../../runs/check-request.js';
import type { Accept } from '../../runs/run-intake.js';
import {
  BODY,
  LONGEST_REASON,
  NAMED,
  readUpload,
  type UploadedLine,
  uploadedLines,
  withUpload,
} from './upload-folder.js';

const MOST_RUNS = 100_000;
const MOST_SEALED = 256 * 1024 ** 2;
/** Each set has its own files. */
const MOST_SETS = 256;
const WRITE_AT_ONCE = 65_536;

/** A line that belongs to arms: a candidate in any format that import reads, or a saved test. */
const ArmLine = z.union([
  z.strictObject({ arms: z.array(z.string()).min(1), candidate: z.record(z.string(), z.unknown()) }),
  z.strictObject({ arms: z.array(z.string()).min(1), test: z.record(z.string(), z.unknown()) }),
]);

/** The parts of an upload, sorted into files of a folder. */
interface Sorted {
  readonly bench: SentBench;
  readonly hash: string;
  /** File with the rows of the data set. */
  readonly rows: string;
  readonly candidates: ReadonlyMap<string, string>;
  readonly tests: ReadonlyMap<string, string>;
}

/** An untrusted file, a folder for what is extracted from it, and how it was sent. */
export interface BenchmarkJob {
  readonly file: string;
  readonly folder: string;
  readonly wish: Pick<BenchmarkWish, 'key' | 'submitter'>;
}

/** The result of taking in an upload. */
export interface TakenBenchmark {
  readonly id: string;
  /** Whether the runs were created now, and wait to be started. */
  readonly isNew: boolean;
  readonly rejected: BenchmarkAccepted['rejected'];
}

/** Takes in benchmarks: creates all runs at once, which then wait for their turn. */
export class UploadedBenchmarks extends BenchmarkIntake {
  /** @param taker calls {@link takeBenchmark} in a place where it does not block the service */
  constructor(
    private readonly taker: (job: BenchmarkJob, stop: AbortSignal) => Promise<TakenBenchmark>,
    private readonly service: BenchmarkService,
    private readonly room: HostResources,
  ) {
    super();
  }

  override async take(
    upload: AsyncIterable<Uint8Array>,
    wish: BenchmarkWish,
    left: AbortSignal,
  ): Promise<BenchmarkAccepted> {
    const { key, submitter, gzip } = wish;
    const received = { upload, gzip, largest: UPLOAD_BOUNDS.total, room: this.room };
    const { id, isNew, rejected } = await withUpload(received, left, (file, folder, stop) =>
      this.taker({ file, folder, wish: { key, submitter } }, stop),
    );
    if (isNew) await this.service.resume(id);
    const { issues, arms, ...view } = await this.service.get(id);
    const skipped = arms.reduce((sum, arm) => sum + arm.skipped, 0);
    return { id, status: view.status, issues, runs: issues * arms.length - skipped, skipped, rejected };
  }
}

/** Reads an upload, and accepts a run for each arm and instance in it. @throws BadInputError when it holds none */
export async function takeBenchmark(
  { file, folder, wish: { key, submitter } }: BenchmarkJob,
  store: BenchmarkStore,
  accept: Accept,
  { checks, setup }: { readonly checks: RunChecks; readonly setup: string },
): Promise<TakenBenchmark> {
  const sorted = await sortUpload(file, folder);
  const { bench, hash } = sorted;
  const { instances, rejected } = await readRows(sorted);
  const inputs = await inputsOf(sorted, instances, folder);
  const made = { title: bench.title ?? 'Benchmark', hash, submitter, setup };
  const { id, status } = await store.create(key, made);
  if (status !== 'accepting') return { id, isNew: false, rejected };
  try {
    for (const arm of bench.arms) {
      const { candidates, name } = arm;
      checkDollars(bench, arm, { candidates, tests: inFiles(sorted.tests, name).length > 0 }, checks);
    }
  } catch (error) {
    await store.delete(id);
    throw error;
  }
  const skipped = await enlist(sorted, instances, inputs, (arm, instance, request) =>
    accept(`benchmark ${id} ${arm} ${instance}`, request, { submitter, benchmark: { id, arm }, alone: true }),
  );
  if (skipped.length === instances.length * bench.arms.length) {
    await store.delete(id);
    throw new BadInputError(`has no usable instance: ${skipped[0]?.reason ?? ''}`, BODY);
  }
  const ids = instances.map(({ issue }) => issue.instance_id);
  const isNew = await store.begin(id, { ...bench, instances: ids, skipped }, sealedOf(instances));
  return { id, isNew, rejected };
}

type Inputs = (arm: SentArm, instance: string) => Promise<SavedInput>;

/** Creates the runs, instance by instance. @returns those for which no valid request could be made */
async function enlist(
  { bench }: Sorted,
  instances: readonly DataSetInstance[],
  inputs: Inputs,
  ask: (arm: string, instance: string, request: RunRequest) => Promise<unknown>,
): Promise<BenchmarkPlan['skipped']> {
  const skipped: BenchmarkPlan['skipped'] = [];
  const pairs = instances.flatMap(({ issue }) => bench.arms.map((arm) => ({ issue, arm })));
  for (const { issue, arm } of pairs) {
    const { instance_id } = issue;
    try {
      const request = armRequest(bench, arm, ruleOf(arm), { issue, ...(await inputs(arm, instance_id)) });
      await ask(arm.name, instance_id, request);
    } catch (error) {
      if (!(error instanceof BadInputError)) throw error;
      skipped.push({ arm: arm.name, instance_id, reason: error.message.slice(0, LONGEST_REASON) });
    }
  }
  return skipped;
}

/** Candidates and tests of the arms, per instance. */
async function inputsOf(
  { bench, candidates, tests }: Sorted,
  instances: readonly DataSetInstance[],
  folder: string,
): Promise<Inputs> {
  const ids = instances.map(({ issue }) => issue.instance_id);
  if (ids.length * bench.arms.length > MOST_RUNS)
    throw new BadInputError(`has more than ${MOST_RUNS} runs; split it.`, BODY);
  const imported = new Map<string, ImportedFolder>();
  for (const [index, [of, file]] of [...candidates].entries()) {
    const into = join(folder, `imported-${index}`);
    await writeImport([file], into, UPLOAD_BOUNDS);
    imported.set(of, await ImportedFolder.open(into));
  }
  const saved = new Map<string, Awaited<ReturnType<typeof readAllTests>>>();
  for (const [of, file] of tests) saved.set(of, await readAllTests(file, ids));
  return async (arm, id) => {
    const own: SavedInput['candidates'][] = [];
    for (const from of inFiles(imported, arm.name)) if (from.has(id)) own.push(await from.candidates(id));
    if (arm.candidates && own.length === 0) throw new BadInputError('has no candidate.', { field: id });
    const given = inFiles(saved, arm.name);
    return {
      candidates: arm.candidates ? own.flatMap((each) => each ?? []) : null,
      tests: given.length === 0 ? null : given.flatMap((each) => each.get(id) ?? []),
    };
  };
}

/** What an arm has of files that are told apart by the arms they belong to. */
function inFiles<T>(files: ReadonlyMap<string, T>, arm: string): T[] {
  return [...files].filter(([of]) => (JSON.parse(of) as string[]).includes(arm)).map(([, file]) => file);
}

function ruleOf({ preset, stages, combiner, calibration, min_confidence }: SentArm) {
  return { preset, stages, combiner, calibration, min_confidence };
}

async function readRows({ bench, rows }: Sorted) {
  const rejected: BenchmarkAccepted['rejected'] = { count: 0, first: [] };
  const all: DataSetInstance[] = [];
  for await (const read of readDataSet(rows, { images: imageTemplates(bench.image) })) {
    if ('problem' in read) {
      rejected.count += 1;
      // Replaces the temporary file's name; in the upload, one line precedes the rows.
      const said = read.problem.message.replace(rows, 'row').slice(0, LONGEST_REASON);
      if (rejected.first.length < NAMED) rejected.first.push(said);
    } else all.push(read);
  }
  const instances = filtered(all, bench.filter);
  if (instances.length > 0) return { instances, rejected };
  throw new BadInputError(`has no matching instance. ${rejected.first[0] ?? ''}`, BODY);
}

function sealedOf(instances: readonly DataSetInstance[]): Record<string, unknown> {
  const sealed = Object.fromEntries(instances.map(({ issue, sealed: own }) => [issue.instance_id, own.open()]));
  if (JSON.stringify(sealed).length <= MOST_SEALED) return sealed;
  throw new BadInputError('has more than 256 MiB of hidden tests; send it in parts.', BODY);
}

/** Sorts the lines of an upload into files. @throws BadInputError naming the line */
async function sortUpload(upload: string, folder: string): Promise<Sorted> {
  const hash = createHash('sha256');
  const files = new Map<string, Part>();
  const write = async (name: string, text: string): Promise<void> => {
    const part = files.get(name) ?? new Part(join(folder, `part-${files.size}.jsonl`));
    if (files.size > MOST_SETS) throw new BadInputError(`names more than ${MOST_SETS} sets of arms.`, BODY);
    files.set(name, part);
    await part.write(`${text}\n`);
  };
  let bench: SentBench | null = null;
  for await (const { text, value, line } of uploadedLines(readUpload(upload, UPLOAD_BOUNDS.total), UPLOAD_BOUNDS)) {
    hash.update(text).update('\n');
    if (bench === null) bench = readSentBench(value);
    else await write(...placeOf(bench, { text, value, line }));
  }
  for (const part of files.values()) await part.flush();
  const rows = files.get(ROWS)?.path;
  if (bench === null || rows === undefined)
    throw new BadInputError('has no rows: send the bench file in one line, then the rows.', BODY);
  const of = (kind: string): Map<string, string> => {
    const own = [...files].filter(([name]) => name.startsWith(`${kind} `));
    return new Map(own.map(([name, { path }]) => [name.slice(kind.length + 1), path]));
  };
  return { bench, hash: hash.digest('hex'), rows, candidates: of('candidate'), tests: of('test') };
}

const ROWS = 'rows';

/** The file that a line goes to, and the text to write. */
function placeOf(bench: SentBench, { text, value, line: at }: UploadedLine): [string, string] {
  const line = ArmLine.safeParse(value);
  if (!line.success) return [ROWS, text];
  requireArms(bench, line.data, at);
  const of = JSON.stringify([...new Set(line.data.arms)].sort());
  return 'test' in line.data
    ? [`test ${of}`, JSON.stringify(line.data.test)]
    : [`candidate ${of}`, JSON.stringify(line.data.candidate)];
}

function requireArms({ arms }: SentBench, line: z.infer<typeof ArmLine>, at: number): void {
  for (const name of line.arms) {
    const arm = arms.find((each) => each.name === name);
    const place = { ...BODY, line: at };
    if (arm === undefined) throw new BadInputError(`names arm "${name}", which is not in the bench file.`, place);
    if ('candidate' in line && !arm.candidates)
      throw new BadInputError(
        `is a candidate of the arm "${name}", which samples its own.`,
        place,
        'Set `candidates: true` in the arm.',
      );
  }
}

/** A file written in batches of lines. Open only during a write, since a refused upload has its folder removed at once. */
class Part {
  private unwritten = '';

  constructor(readonly path: string) {}

  async write(text: string): Promise<void> {
    this.unwritten += text;
    if (this.unwritten.length >= WRITE_AT_ONCE) await this.flush();
  }

  async flush(): Promise<void> {
    await appendFile(this.path, this.unwritten, { mode: 0o600 });
    this.unwritten = '';
  }
}
