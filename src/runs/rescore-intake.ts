import { z } from 'zod';
import type { GivenRule } from '../core/run/run-request.js';

/** How saved runs that were sent in are to be scored. */
export interface RescoreWish {
  /** Null = what settings and image allow. */
  readonly verifiers: string | null;
  readonly rule: GivenRule;
  /** Container image; `{instance_id}` is replaced. Null = none is known. */
  readonly image: string | null;
  /** The upload is packed. */
  readonly gzip: boolean;
  /** See `RunStore.create`. */
  readonly submitter: string;
}

/** What became of an upload: a run for each instance, and what no run was made of. */
export const TakenIn = z.object({
  candidates: z.int(),
  runs: z.array(z.object({ instance_id: z.string(), id: z.string() })),
  skipped: z.array(z.object({ instance_id: z.string(), reason: z.string() })),
  rejected: z
    .object({ count: z.int(), first: z.array(z.object({ line: z.int().nullable(), reason: z.string() })) })
    .describe('Records that could not be read, the first of them with line and reason.'),
});
export type TakenIn = z.infer<typeof TakenIn>;

/** Takes saved runs of any known format and starts a run for each instance. Bound in the composition root. */
export abstract class RescoreIntake {
  /**
   * @param upload JSON lines; read once, never held whole
   * @param left aborts when nobody waits for the answer any more
   * @throws BadInputError when nothing of it could be read, or it is larger than an upload may be; MachineLowError
   */
  abstract take(upload: AsyncIterable<Uint8Array>, wish: RescoreWish, left: AbortSignal): Promise<TakenIn>;
}
