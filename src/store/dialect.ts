/** Where the databases differ. */
export interface StoreDialect {
  /** Whether a write can take what another in the same statement returned. */
  readonly nestsWrites: boolean;
  /** The function that says where in a text another stands, from 1; 0 = nowhere. */
  readonly positionOf: 'instr' | 'strpos';
}

export const SQLITE: StoreDialect = { nestsWrites: false, positionOf: 'instr' };
export const POSTGRES: StoreDialect = { nestsWrites: true, positionOf: 'strpos' };
