export interface Swept {
  readonly runs: number;
  readonly benchmarks: number;
  /** Runs that went with their benchmarks. */
  readonly benchmark_runs: number;
  readonly results: number;
  readonly reports: number;
  readonly audited: number;
}

/** Forgets what is old. */
export abstract class Retention {
  /**
   * Deletes runs that ended before `cutoff`, with their journals, results that no run asked for since, reports
   * made first and audit entries written before, in portions that keep nobody waiting. Runs that have not ended stay, however
   * old; those of a benchmark stay and go with it.
   * @param cutoff ms since 1970; results' use is known to within a day
   * @throws StoreUnavailableError
   */
  abstract sweep(cutoff: number): Promise<Swept>;
}
