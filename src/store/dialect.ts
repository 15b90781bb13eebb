/** Where the databases differ: whether a write can take what another in the same statement returned. */
export interface StoreDialect {
  readonly nestsWrites: boolean;
}

export const SQLITE: StoreDialect = { nestsWrites: false };
export const POSTGRES: StoreDialect = { nestsWrites: true };
