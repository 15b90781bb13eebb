import type { Kysely } from 'kysely';
import { ResultStore } from '../ports/result-store.js';
import type { Database, StoreGuard } from './kysely-schema.js';

/** Results as rows, in any database Kysely speaks to. */
export class KyselyResultStore extends ResultStore {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
  ) {
    super();
  }

  /** @returns undefined when nothing is stored under `key` */
  override async get(key: string): Promise<unknown> {
    const row = await this.guard(() =>
      this.db.selectFrom('results').select('value').where('key', '=', key).executeTakeFirst(),
    );
    return row === undefined ? undefined : JSON.parse(row.value);
  }

  override async put(key: string, kind: string, value: unknown): Promise<void> {
    const row = { key, kind, value: JSON.stringify(value), created_at: Date.now() };
    await this.guard(() =>
      this.db
        .insertInto('results')
        .values(row)
        .onConflict((conflict) => conflict.column('key').doNothing())
        .execute(),
    );
  }
}
