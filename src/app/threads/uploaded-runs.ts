import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { contentKey } from '../../core/fingerprint.js';
import { ImportedFolder, type ImportedInstance } from '../../io/saved-runs/imported-folder.js';
import { rawLines } from '../../io/records/raw-lines.js';
import { UPLOAD_BOUNDS } from '../../io/saved-runs/saved-run.js';
import { RescoreIntake, type RescoreWish, type TakenIn } from '../../runs/rescore-intake.js';
import type { RunDependenciesFactory } from '../../runs/run-dependencies.js';
import { BOUNDLESS, type HostResources } from '../../ports/host-resources.js';
import type { RunService } from '../../runs/run-service.js';
import { type ImportSummary, writeImport } from '../../reports/write-import.js';
import { rescoreRequest } from '../../commands/rescore-request.js';
import { makeUploadFolder } from './upload-folder.js';

/** Bytes of one instance; a run that is asked for in JSON is no larger. */
const LARGEST_RUN = 64 * 1024 ** 2;
/** Of one instance; 200 tries of 500 steps. */
const MOST_STEPS = 100_000;
const LOOK_EVERY_BYTES = 64 * 1024 ** 2;
const MOST_INSTANCES = 10_000;
/** Of reading an upload; others wait meanwhile. */
const LONGEST_MS = 600_000;
const LOOK_EVERY_MS = 1_000;
const NAMED = 20;
const LONGEST_REASON = 1_000;

const BODY = { field: 'body' };

/** A file of anybody's, and the folder that it is imported into. */
export interface UploadJob {
  readonly file: string;
  readonly folder: string;
}

export function importUpload({ file, folder }: UploadJob): Promise<ImportSummary> {
  return writeImport([file], folder, UPLOAD_BOUNDS);
}

/** Uploads go through a folder that is gone when their runs are submitted; the labels in them go with it. */
export class UploadedRuns extends RescoreIntake {
  /** @param importer does {@link importUpload}, where it does not keep the service from answering others */
  constructor(
    private readonly runs: RunService,
    private readonly dependencies: RunDependenciesFactory,
    private readonly room: HostResources = BOUNDLESS,
    private readonly importer: (job: UploadJob, stop: AbortSignal) => Promise<ImportSummary> = importUpload,
  ) {
    super();
  }

  override async take(upload: AsyncIterable<Uint8Array>, wish: RescoreWish, left: AbortSignal): Promise<TakenIn> {
    await this.requireRoom();
    const folder = await makeUploadFolder();
    try {
      const file = join(folder, wish.gzip ? 'upload.jsonl.gz' : 'upload.jsonl');
      const bounded = limited(upload, () => this.requireRoom());
      await pipeline(bounded, createWriteStream(file));
      const imported = join(folder, 'imported');
      const { candidates, rejected } = await this.imported({ file, folder: imported }, left);
      const first = await firstRejected(join(imported, 'rejected.jsonl'));
      if (candidates === 0) {
        throw new BadInputError(`holds no candidate: ${first[0]?.reason ?? 'it is empty'}`, { field: 'body' });
      }
      return { candidates, ...(await this.submit(imported, wish, left)), rejected: { count: rejected, first } };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Reads the upload for as long as somebody waits for it, there is room, and it does not take too long. */
  private async imported(job: UploadJob, left: AbortSignal): Promise<ImportSummary> {
    const stop = new AbortController();
    const late = setTimeout(() => {
      stop.abort(
        new BadInputError(`takes longer than ${LONGEST_MS / 60_000} minutes to read; send it in parts.`, BODY),
      );
    }, LONGEST_MS);
    const look = setInterval(() => {
      this.requireRoom().catch((error: unknown) => {
        stop.abort(error);
      });
    }, LOOK_EVERY_MS);
    try {
      return await this.importer(job, AbortSignal.any([left, stop.signal]));
    } finally {
      clearTimeout(late);
      clearInterval(look);
    }
  }

  /** @throws MachineLowError */
  private async requireRoom(): Promise<void> {
    const low = await this.room.shortage(['uploads', 'store']);
    if (low !== null) throw low;
  }

  private async submit(
    imported: string,
    wish: RescoreWish,
    left: AbortSignal,
  ): Promise<Pick<TakenIn, 'runs' | 'skipped'>> {
    const folder = await ImportedFolder.open(imported);
    const image = wish.image === null ? [] : [wish.image];
    const runs: { instance_id: string; id: string }[] = [];
    const skipped: { instance_id: string; reason: string }[] = [];
    const instances = folder.instances();
    if (instances.length > MOST_INSTANCES) {
      throw new BadInputError(`holds more than ${MOST_INSTANCES} instances; send it in parts.`, BODY);
    }
    for (const instance of instances) {
      left.throwIfAborted();
      const { instance_id } = instance;
      try {
        requireOneRun(instance);
        const rescored = { candidates: await folder.candidates(instance_id), tests: folder.tests(instance_id) };
        const request = rescoreRequest({ ...wish, image }, instance, rescored, this.dependencies);
        const key = `rescore:${contentKey(request)}`;
        const { id } = await this.runs.submit(key, z.json().parse(request), wish.submitter);
        runs.push({ instance_id, id });
      } catch (error) {
        if (!(error instanceof BadInputError)) throw error;
        skipped.push({ instance_id, reason: error.message });
      }
    }
    return { runs, skipped };
  }
}

/** @throws BadInputError for more than a service can take at once */
function requireOneRun({ instance_id, bytes, steps }: ImportedInstance): void {
  const excess = bytes > LARGEST_RUN ? '64 MB' : steps > MOST_STEPS ? `${MOST_STEPS} steps` : null;
  if (excess === null) return;
  throw new BadInputError(`${instance_id} comes to more than ${excess}; send fewer of its runs.`);
}

/** @param requireRoom asked now and then while it grows */
async function* limited(
  upload: AsyncIterable<Uint8Array>,
  requireRoom: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let looked = 0;
  for await (const chunk of upload) {
    size += chunk.length;
    if (size > UPLOAD_BOUNDS.total)
      throw new BadInputError('is larger than 8 GiB; send it in parts.', { field: 'body' });
    if (size - looked > LOOK_EVERY_BYTES) {
      await requireRoom();
      looked = size;
    }
    yield chunk;
  }
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
