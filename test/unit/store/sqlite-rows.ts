import SqliteDriver from 'better-sqlite3';

/** Rows of an embedded store that others work on, as `psql -At` prints them. */
export function sqliteRows(path: string, query: string): string {
  const driver = new SqliteDriver(path, { readonly: true, timeout: 5_000 });
  try {
    const rows = driver.prepare(query).raw().all() as unknown[][];
    return rows.map((row) => row.join('|')).join('\n');
  } finally {
    driver.close();
  }
}
