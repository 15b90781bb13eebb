/**
 * Kinds of traced work, from outermost to innermost: run > stage > trajectory, verdict, suite > model call, container.
 */
export type PartKind = 'run' | 'stage' | 'trajectory' | 'verdict' | 'suite' | 'model-call' | 'container';

/**
 * Attributes of a part: ids, counts, names of models and images; never prompts, answers, patches or output. An
 * undefined fact is omitted.
 */
export type Facts = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Part {
  readonly kind: PartKind;
  /** One of few values: a stage, a suite, a model; or the id of a run, which appears only in traces and logs. */
  readonly name: string;
  readonly facts?: Facts;
}

/** A part that has begun. */
export interface OpenPart {
  note(facts: Facts): void;
  /** Only the first call counts. @param error why the part failed; absent = success */
  end(error?: unknown): void;
}

/** Reports the work being done and its nesting to an external system. Never throws, never waits. */
export abstract class Tracer {
  /** Begins a part, nested in the caller's. */
  abstract begin(part: Part): OpenPart;
  /** Runs `work` as a part; parts that it begins are nested in it. @throws what `work` throws */
  abstract within<T>(part: Part, work: (open: OpenPart) => Promise<T>): Promise<T>;
}

const NOBODY: OpenPart = { note: () => undefined, end: () => undefined };

/** Reports nothing. */
class Untraced extends Tracer {
  override begin(): OpenPart {
    return NOBODY;
  }

  override within<T>(_part: Part, work: (open: OpenPart) => Promise<T>): Promise<T> {
    return work(NOBODY);
  }
}
export const UNTRACED: Tracer = new Untraced();

/** Each has few values: names of models, stages, kinds. Never the id of a run, a candidate or an issue. */
type Labels<
  Catalogue extends Readonly<Record<string, { readonly labels: readonly string[] }>>,
  Name extends keyof Catalogue,
> = Readonly<Record<Catalogue[Name]['labels'][number], string>>;

/** Metrics of this process. Never throws, never waits. */
export abstract class Meter {
  /** @param by at least 0 */
  abstract add<N extends keyof typeof COUNTERS>(name: N, labels: Labels<typeof COUNTERS, N>, by?: number): void;
  abstract time<N extends keyof typeof DURATIONS>(name: N, labels: Labels<typeof DURATIONS, N>, seconds: number): void;
  /** Changes a gauge by `change`. */
  abstract shift<N extends keyof typeof LEVELS>(name: N, labels: Labels<typeof LEVELS, N>, change: number): void;
  abstract set<N extends keyof typeof LEVELS>(name: N, labels: Labels<typeof LEVELS, N>, value: number): void;
}

/** Records nothing. */
class Unmetered extends Meter {
  override add(): void {
    return;
  }

  override time(): void {
    return;
  }

  override shift(): void {
    return;
  }

  override set(): void {
    return;
  }
}
export const UNMETERED: Meter = new Unmetered();

/** All metrics so far, in Prometheus's text format. */
export abstract class Exposition {
  abstract readonly contentType: string;
  abstract text(): Promise<string>;
  /** All metrics of this process, for the `also` of another. */
  abstract counted(): Promise<unknown>;
  /** Adds another process's metrics to the text from now on; they are omitted while that process does not answer. */
  abstract also(counted: () => Promise<unknown>): void;
}

/*
 * Every metric of bestk by its Prometheus name. The dashboard, the alerts and docs/deployment.md use these names; a
 * test keeps them in step. Each label has few values: metrics answer "how many", traces and logs answer "which run".
 */

export interface Metric {
  readonly help: string;
  readonly labels: readonly string[];
  /** Exported as 0 from the start: Prometheus misses the first increase of a series that did not exist before. */
  readonly from0?: readonly Readonly<Record<string, string>>[];
}

export interface Duration extends Metric {
  /** Upper bounds in seconds. */
  readonly buckets: readonly number[];
}

const CALL_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const STAGE_BUCKETS = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600];
const OPEN_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800];

export const COUNTERS = {
  bestk_trajectories_total: { help: 'Trajectories sampled, by how they ended.', labels: ['exit_reason'] },
  bestk_verdicts_total: {
    help: 'Verdicts: scored, or abstained with a reason.',
    labels: ['measure', 'outcome'],
  },
  bestk_model_calls_total: {
    help: 'Model calls made because no stored answer was found; outcome is ok or the error code.',
    labels: ['model', 'role', 'outcome'],
  },
  bestk_model_tokens_total: {
    help: 'Tokens as servers counted them. Kinds: input (not from a prefix cache), cached (input that was), output.',
    labels: ['model', 'role', 'kind'],
  },
  bestk_model_cost_usd_total: {
    help: 'US dollars by the price table; no series without a price.',
    labels: ['model', 'role'],
  },
  bestk_model_retries_total: {
    help: 'Attempts at a model call that failed and were repeated: rate-limited, server-error, no-answer.',
    labels: ['reason'],
    from0: [{ reason: 'rate-limited' }, { reason: 'server-error' }, { reason: 'no-answer' }],
  },
  bestk_replay_hits_total: { help: 'Model calls that a recording answered.', labels: ['role'] },
  bestk_result_reads_total: {
    help: 'Lookups of stored results: hit (nothing is paid for again) or miss.',
    labels: ['outcome'],
  },
  bestk_result_writes_total: { help: 'Results stored, by kind.', labels: ['kind'] },
  bestk_containers_created_total: { help: 'Containers opened.', labels: ['purpose'] },
  bestk_sandbox_failures_total: {
    help: 'Failures of the container engine, by kind. None of them is a verdict.',
    labels: ['kind'],
    from0: [
      { kind: 'engine-unavailable' },
      { kind: 'engine-disk-full' },
      { kind: 'image-missing' },
      { kind: 'image-pull-failed' },
      { kind: 'sandbox-lost' },
      { kind: 'sandbox-starved' },
      { kind: 'sandbox-evicted' },
      { kind: 'sandbox-oom-killed' },
      { kind: 'sandbox-expired' },
      { kind: 'sandbox-unschedulable' },
      { kind: 'sandbox-refused' },
    ],
  },
  bestk_sandbox_seconds_total: { help: 'Seconds that containers were open, summed.', labels: ['purpose'] },
  bestk_sandbox_commands_total: { help: 'Commands run in containers, by how they ended.', labels: ['outcome'] },
} as const satisfies Record<string, Metric>;

export const DURATIONS = {
  bestk_run_duration_seconds: {
    help: 'Executions of runs by outcome: done, failed, stopped (cancelled, or handed back to the queue).',
    labels: ['outcome', 'code'],
    from0: [
      { outcome: 'done', code: '' },
      { outcome: 'failed', code: 'internal' },
    ],
    buckets: STAGE_BUCKETS,
  },
  bestk_stage_duration_seconds: {
    help: 'Stages of runs: sampling, test-writing, each verifier.',
    labels: ['stage', 'outcome'],
    buckets: STAGE_BUCKETS,
  },
  bestk_model_call_duration_seconds: {
    help: 'From asking to the answer, waiting for a permit and retries included.',
    labels: ['model', 'role'],
    buckets: CALL_BUCKETS,
  },
  bestk_container_open_duration_seconds: {
    help: 'From asking for a container to having it, waiting for room included.',
    labels: ['purpose'],
    buckets: OPEN_BUCKETS,
  },
} as const satisfies Record<string, Duration>;

export const LEVELS = {
  bestk_build_info: { help: 'Always 1; the version is a label.', labels: ['version'] },
  bestk_store_up: { help: '1 when the store answered at this scrape, else 0.', labels: [] },
  bestk_runs: { help: 'Runs in the store by status, those of all processes.', labels: ['status'] },
  bestk_queue_depth: { help: 'Runs in the store that wait to be worked on.', labels: [] },
  bestk_queue_oldest_age_seconds: {
    help: 'How long the run has waited that waits longest; 0 when none does.',
    labels: [],
  },
  bestk_runs_executing: { help: 'Runs that this process works on.', labels: [] },
  bestk_model_calls_in_flight: { help: 'Model calls in progress or waiting for a permit.', labels: ['model'] },
  bestk_machine_free_bytes: {
    help: 'Free memory, and free disk of engine, store and uploads, as far as this process can see them.',
    labels: ['resource'],
  },
  bestk_back_pressure: {
    help: '1 while new work waits because this is below its floor, else 0.',
    labels: ['resource'],
  },
  bestk_containers_live: { help: 'Containers that this process has open.', labels: ['purpose'] },
} as const satisfies Record<string, Metric>;
