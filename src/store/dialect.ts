import { type RawBuilder, sql } from 'kysely';

/** Where the databases differ. */
export interface StoreDialect {
  /** Whether a write can take what another in the same statement returned. */
  readonly nestsWrites: boolean;
  /** The function that says where in a text another stands, from 1; 0 = nowhere. */
  readonly positionOf: 'instr' | 'strpos';
  /** What stands at a path in a column of JSON as text. */
  readonly memberOf: (column: string, path: readonly string[]) => RawBuilder<number | string | null>;
}

export const SQLITE: StoreDialect = {
  nestsWrites: false,
  positionOf: 'instr',
  memberOf: (column, path) => sql`json_extract(${sql.ref(column)}, ${`$.${path.join('.')}`})`,
};
export const POSTGRES: StoreDialect = {
  nestsWrites: true,
  positionOf: 'strpos',
  memberOf: (column, path) => sql`${sql.ref(column)}::json #>> ${`{${path.join(',')}}`}::text[]`,
};
