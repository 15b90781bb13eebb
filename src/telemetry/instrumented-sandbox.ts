import { UnavailableError } from '../core/errors/errors.js';
import type { Meter } from '../ports/meter.js';
import {
  type ExecOutcome,
  type ExecRequest,
  type Ids,
  type ImageDescription,
  Sandbox,
  type SandboxFile,
  type SandboxLimits,
  type SandboxSession,
  type SandboxSpec,
} from '../ports/sandbox.js';
import type { OpenPart, Tracer } from '../ports/tracer.js';

/** What containers are opened for; the rest of a purpose may be an id. */
const PURPOSE = /^(agent|judge|verify|related tests|test writer|grade)\b/;

interface Watchers {
  readonly meter: Meter;
  readonly tracer: Tracer;
}

/** Sandboxes, counted and traced: each container from its opening to its end. */
export class InstrumentedSandbox extends Sandbox {
  readonly #inner: Sandbox;
  readonly #watchers: Watchers;

  constructor(inner: Sandbox, watchers: Watchers) {
    super();
    this.#inner = inner;
    this.#watchers = watchers;
  }

  override get limits(): SandboxLimits {
    return this.#inner.limits;
  }

  describeImage(image: string, signal: AbortSignal): Promise<ImageDescription> {
    return countFailure(this.#watchers.meter, signal, () => this.#inner.describeImage(image, signal));
  }

  async open(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxSession> {
    const { meter, tracer } = this.#watchers;
    const purpose = PURPOSE.exec(spec.purpose)?.[1]?.replace(' ', '-') ?? 'other';
    const part = tracer.begin({ kind: 'container', name: purpose, facts: { image: spec.image } });
    const start = performance.now();
    try {
      const session = await countFailure(meter, signal, () => this.#inner.open(spec, signal));
      const waited = secondsSince(start);
      part.note({ opened_after_s: waited });
      meter.time('bestk_container_open_duration_seconds', { purpose }, waited);
      return new InstrumentedSession(session, { meter, part, purpose });
    } catch (error) {
      part.end(error);
      throw error;
    }
  }

  sweep(): Promise<number> {
    return this.#inner.sweep();
  }

  engineVersion(): Promise<string> {
    return this.#inner.engineVersion();
  }

  concerns(image: string, signal: AbortSignal): Promise<readonly string[]> {
    return this.#inner.concerns(image, signal);
  }

  override keeping<T>(image: string, work: () => Promise<T>): Promise<T> {
    return this.#inner.keeping(image, work);
  }

  closeAll(): Promise<void> {
    return this.#inner.closeAll();
  }
}

interface StageTelemetry {
  readonly meter: Meter;
  readonly part: OpenPart;
  readonly purpose: string;
}

class InstrumentedSession implements SandboxSession {
  readonly #start = performance.now();
  #commands = 0;
  #isOpen = true;

  constructor(
    private readonly session: SandboxSession,
    private readonly watch: StageTelemetry,
  ) {
    const { meter, purpose } = watch;
    meter.add('bestk_containers_created_total', { purpose });
    meter.shift('bestk_containers_live', { purpose }, 1);
  }

  get baseCommit(): string {
    return this.session.baseCommit;
  }

  get testsUser(): Ids | null {
    return this.session.testsUser;
  }

  async exec(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome> {
    const outcome = await this.#orEnd(signal, () => this.session.exec(request, signal));
    this.#commands += 1;
    this.watch.meter.add('bestk_sandbox_commands_total', { outcome: outcome.kind });
    // After any of these the adapter has removed the container by itself.
    const goesOn = outcome.kind === 'exited' || (outcome.kind === 'timed-out' && outcome.survived);
    if (!goesOn) this.#end(outcome.kind);
    return outcome;
  }

  writeFiles(files: readonly SandboxFile[], signal: AbortSignal): Promise<void> {
    return this.#orEnd(signal, () => this.session.writeFiles(files, signal));
  }

  readFile(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    return this.#orEnd(signal, () => this.session.readFile(path, maxBytes, signal));
  }

  async close(): Promise<void> {
    await this.session.close();
    this.#end('closed');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What fails with the engine has cost the container; a wrong path has not, and is told when it is closed. */
  async #orEnd<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await countFailure(this.watch.meter, signal, work);
    } catch (error) {
      if (error instanceof UnavailableError) this.#end('lost', error);
      throw error;
    }
  }

  #end(ended: string, error?: unknown): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { meter, part, purpose } = this.watch;
    meter.shift('bestk_containers_live', { purpose }, -1);
    meter.add('bestk_sandbox_seconds_total', { purpose }, secondsSince(this.#start));
    part.note({ ended, commands: this.#commands });
    part.end(error);
  }
}

/** A failure because the caller gave up is nobody's. */
async function countFailure<T>(meter: Meter, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnavailableError && !signal.aborted) {
      meter.add('bestk_sandbox_failures_total', { kind: error.code });
    }
    throw error;
  }
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}
