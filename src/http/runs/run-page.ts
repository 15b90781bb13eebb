import { z } from 'zod';
import { type RunListing, RunOrder, type RunPage, RunStatus, RunSummary } from '../../ports/run-store.js';

const SORTS = RunOrder.options.flatMap((order) => [order, `-${order}`] as const);

/** `?status=queued,running&instance=…&q=…&sort=-cost`: which runs are listed, and in which order (newest first). */
export const ListingQuery = z.strictObject({
  status: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(RunStatus).min(1))
    .optional(),
  instance: z.string().min(1).max(512).optional(),
  tag: z.string().min(1).max(64).optional(),
  /** Letters of the run's id, its instance or its selected candidate. */
  q: z.string().max(512).optional(),
  /** With a minus: largest first. */
  sort: z.enum(SORTS).default('-created'),
});
type ListingQuery = z.infer<typeof ListingQuery>;

export function listingOf({ status, instance, tag, q, sort }: ListingQuery): RunListing {
  return {
    statuses: status,
    instance,
    tag,
    search: q,
    order: RunOrder.parse(sort.replace('-', '')),
    descending: sort.startsWith('-'),
  };
}

const MAX_LIMIT = 100;
/** A position of any order, which holds an instance id at most; in no letters but those of ids. */
const Cursor = z.string().regex(/^[\w-]{1,6000}$/, 'is no cursor of this service');

/** `?limit=20&cursor=…`: the cursor is the `next_cursor` of the page before, asked for with the same listing. */
export const PageQuery = ListingQuery.extend({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(20),
  cursor: Cursor.optional(),
});
export type PageQuery = z.infer<typeof PageQuery>;

export const RunPageView = z.object({
  runs: z.array(RunSummary),
  next_cursor: z.string().nullable().describe('`cursor` of the next page; null at the end.'),
});
export type RunPageView = z.infer<typeof RunPageView>;

export function runPageView({ runs, next }: RunPage): RunPageView {
  return { runs: [...runs], next_cursor: next };
}
