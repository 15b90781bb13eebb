import type { Kysely } from 'kysely';
import { answerOf } from './run-rows.js';

interface Filling {
  runs: { id: string; answer: string | null };
  run_documents: { run_id: string; result: string | null };
}

/**
 * What a look at a run says of its result stands beside it, and its events are counted in an index. One run at a time: all
 * of them may not fit into memory.
 */
export async function addAnswers(untyped: Kysely<unknown>): Promise<void> {
  const db = untyped as Kysely<Filling>;
  await db.schema.alterTable('runs').addColumn('answer', 'text').execute();
  await db.schema.createIndex('run_events_by_type').on('run_events').columns(['run_id', 'type']).execute();
  for (const { run_id } of await db.selectFrom('run_documents').select('run_id').execute()) {
    const query = db.selectFrom('run_documents').select('result').where('run_id', '=', run_id);
    const { result } = await query.executeTakeFirstOrThrow();
    if (result === null) continue;
    const answer = answerOf(JSON.parse(result));
    await db.updateTable('runs').set({ answer }).where('id', '=', run_id).execute();
  }
}
