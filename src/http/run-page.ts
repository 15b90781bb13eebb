import { z } from 'zod';
import { type RunPage, RunSummary } from '../ports/run-store.js';
import { ListingQuery } from './run-listing.js';

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
