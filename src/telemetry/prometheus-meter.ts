import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import { Exposition, Meter, COUNTERS, type Duration, DURATIONS, LEVELS, type Metric } from '../ports/telemetry.js';

type Labels = Readonly<Record<string, string>>;

type Counted = MetricObjectWithValues<MetricValue<string>>[];

/** Maximum values of one label of one metric; further ones are counted as {@link OTHER}. */
const MOST_VALUES = 64;
const OTHER = 'other';

/** Prometheus metrics of this process. */
export class PrometheusMeter extends Meter implements Exposition {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #durations = new Map<string, Histogram>();
  readonly #levels = new Map<string, Gauge>();
  readonly #seen = new Map<string, Set<string>>();
  #other: (() => Promise<unknown>) | undefined;

  /** @param withProcess whether to add memory, CPU and event loop of the process */
  constructor(version: string, withProcess = true) {
    super();
    const registers = [this.#registry];
    for (const [name, { help, labels, from0 = [] }] of Object.entries<Metric>(COUNTERS)) {
      const counter = new Counter({ name, help, labelNames: [...labels], registers });
      for (const each of from0) counter.inc({ ...each }, 0);
      this.#counters.set(name, counter);
    }
    for (const [name, { help, labels, buckets, from0 = [] }] of Object.entries<Duration>(DURATIONS)) {
      const histogram = new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers });
      for (const each of from0) histogram.zero({ ...each });
      this.#durations.set(name, histogram);
    }
    for (const [name, { help, labels }] of Object.entries(LEVELS)) {
      this.#levels.set(name, new Gauge({ name, help, labelNames: [...labels], registers, aggregator: together(name) }));
    }
    if (withProcess) collectDefaultMetrics({ register: this.#registry });
    this.set('bestk_build_info', { version }, 1);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    const other = await this.#other?.().catch(() => undefined);
    if (other === undefined) return this.#registry.metrics();
    return AggregatorRegistry.aggregate([await this.counted(), other as Counted]).metrics();
  }

  counted(): Promise<Counted> {
    return this.#registry.getMetricsAsJSON();
  }

  also(counted: () => Promise<unknown>): void {
    this.#other = counted;
  }

  override add(name: string, labels: Labels, by = 1): void {
    // prom-client throws on a negative count; an invalid count from a server must not end a run.
    if (by >= 0 && Number.isFinite(by)) this.#counters.get(name)?.inc(this.#bounded(name, labels), by);
  }

  override time(name: string, labels: Labels, seconds: number): void {
    this.#durations.get(name)?.observe(this.#bounded(name, labels), seconds);
  }

  override shift(name: string, labels: Labels, change: number): void {
    this.#levels.get(name)?.inc(this.#bounded(name, labels), change);
  }

  override set(name: string, labels: Labels, value: number): void {
    this.#levels.get(name)?.set(this.#bounded(name, labels), value);
  }

  #bounded(name: string, labels: Labels): Record<string, string> {
    return Object.fromEntries(
      Object.entries(labels).map(([label, value]) => [label, this.#known(`${name} ${label}`, value) ? value : OTHER]),
    );
  }

  #known(place: string, value: string): boolean {
    const seen = this.#seen.get(place) ?? new Set();
    this.#seen.set(place, seen);
    if (seen.has(value)) return true;
    if (seen.size >= MOST_VALUES) return false;
    seen.add(value);
    return true;
  }
}

/** Sums the values of all processes; the version is the same in each. */
function together(level: string): 'first' | 'sum' {
  return level === 'bestk_build_info' ? 'first' : 'sum';
}
