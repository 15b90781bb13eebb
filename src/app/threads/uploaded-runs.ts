import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { contentKey } from '../../core/identifier.js';
import { ImportedFolder, type ImportedInstance } from '../../io/saved-runs/imported-folder.js';
import { rawLines } from '../../io/records/records.js';
import { UPLOAD_BOUNDS } from '../../io/saved-runs/saved-run.js';
import type { RunChecks } from '../../runs/check-request.js';
import { type Accept, RescoreIntake, type RescoreWish, type TakenIn } from '../../runs/run-intake.js';
import { BOUNDLESS, type HostResources } from '../../ports/sandbox.js';
import { writeImport } from '../../reports/write-import.js';
import { rescoreRequest } from '../../commands/rescore.js';
import { BODY, LONGEST_REASON, NAMED, withUpload } from './upload-folder.js';

/** Maximum bytes per instance; a run requested in JSON is no larger. */
const LARGEST_RUN = 64 * 1024 ** 2;
/** Maximum steps per instance: 200 rollouts of 500 steps. */
const MOST_STEPS = 100_000;
const MOST_INSTANCES = 10_000;

/** An untrusted file, the folder it is imported into, and how its runs are scored. */
export interface UploadJob {
  readonly file: string;
  readonly folder: string;
  readonly wish: RescoreWish;
}

/** The settings of the service that its runs depend on. */
interface UploadSettings {
  readonly checks: Pick<RunChecks, 'defaults'>;
  readonly setup: string;
}

/** Reads an upload, and accepts a run for each instance in it. @throws BadInputError when it holds none */
export async function takeUpload(
  { file, folder, wish }: UploadJob,
  accept: Accept,
  settings: UploadSettings,
): Promise<TakenIn> {
  const { candidates, rejected } = await writeImport([file], folder, UPLOAD_BOUNDS);
  const first = await firstRejected(join(folder, 'rejected.jsonl'));
  if (candidates === 0) {
    throw new BadInputError(`has no candidates: ${first[0]?.reason ?? 'it is empty'}`, BODY);
  }
  return { candidates, ...(await submitted(folder, wish, accept, settings)), rejected: { count: rejected, first } };
}

async function submitted(
  imported: string,
  wish: RescoreWish,
  accept: Accept,
  { checks, setup }: UploadSettings,
): Promise<Pick<TakenIn, 'runs' | 'skipped'>> {
  const folder = await ImportedFolder.open(imported);
  const image = wish.image === null ? [] : [wish.image];
  const runs: { instance_id: string; id: string }[] = [];
  const skipped: { instance_id: string; reason: string }[] = [];
  const instances = folder.instances();
  if (instances.length > MOST_INSTANCES) {
    throw new BadInputError(`has more than ${MOST_INSTANCES} instances; send it in parts.`, BODY);
  }
  for (const instance of instances) {
    const { instance_id } = instance;
    try {
      requireOneRun(instance);
      const rescored = { candidates: await folder.candidates(instance_id), tests: folder.tests(instance_id) };
      const request = rescoreRequest({ ...wish, image }, instance, rescored, checks);
      const { id } = await accept(`rescore:${contentKey(request)} ${setup}`, request, { submitter: wish.submitter });
      runs.push({ instance_id, id });
    } catch (error) {
      if (!(error instanceof BadInputError)) throw error;
      skipped.push({ instance_id, reason: error.message });
    }
  }
  return { runs, skipped };
}

/** Uploads are kept in a folder that is removed, with the labels in it, once their runs are submitted. */
export class UploadedRuns extends RescoreIntake {
  /** @param taker calls {@link takeUpload} in a place where it does not block the service */
  constructor(
    private readonly taker: (job: UploadJob, stop: AbortSignal) => Promise<TakenIn>,
    private readonly room: HostResources = BOUNDLESS,
  ) {
    super();
  }

  override take(upload: AsyncIterable<Uint8Array>, wish: RescoreWish, left: AbortSignal): Promise<TakenIn> {
    const received = { upload, gzip: wish.gzip, largest: UPLOAD_BOUNDS.total, room: this.room };
    return withUpload(received, left, (file, folder, stop) =>
      this.taker({ file, folder: join(folder, 'imported'), wish }, stop),
    );
  }
}

/** @throws BadInputError for an instance that is too large for one run */
function requireOneRun({ instance_id, bytes, steps }: ImportedInstance): void {
  const excess = bytes > LARGEST_RUN ? '64 MB' : steps > MOST_STEPS ? `${MOST_STEPS} steps` : null;
  if (excess === null) return;
  throw new BadInputError(`${instance_id} exceeds ${excess}; send fewer of its runs.`);
}

const Rejected = z.object({ line: z.number().nullable(), reason: z.string() });

async function firstRejected(file: string): Promise<z.infer<typeof Rejected>[]> {
  const first: z.infer<typeof Rejected>[] = [];
  for await (const { bytes } of rawLines(createReadStream(file), UPLOAD_BOUNDS.line)) {
    if (first.length === NAMED) break;
    if (bytes === null) continue;
    const { line, reason } = Rejected.parse(JSON.parse(bytes.toString('utf8')));
    first.push({ line, reason: reason.slice(0, LONGEST_REASON) });
  }
  return first;
}
