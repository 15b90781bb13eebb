import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { BadInputError } from '../../src/core/errors/errors.js';
import { ImageMissingError, SandboxLostError } from '../../src/core/errors/unavailable.js';
import {
  Sandbox,
  type ExecOutcome,
  type ExecRequest,
  type Ids,
  type ImageDescription,
  type SandboxFile,
  type SandboxLimits,
  type SandboxSession,
  type SandboxSpec,
} from '../../src/ports/sandbox.js';

/** What a handler sees of the session it runs in; it may change the files. */
export interface FakeSessionView {
  readonly image: string;
  readonly spec: SandboxSpec;
  readonly files: Map<string, Uint8Array>;
}

/** Plays the commands. A thrown error stands for trouble of the engine and closes the session. */
export type FakeHandler = (request: ExecRequest, session: FakeSessionView) => ExecOutcome | Promise<ExecOutcome>;

export interface FakeImage {
  readonly workdirs: readonly string[];
  readonly commits?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

export interface FakeSandboxOptions {
  readonly limits?: Partial<SandboxLimits>;
  /** The images that exist; without this every image exists and holds every workdir and commit. */
  readonly images?: Readonly<Record<string, FakeImage>>;
}

/** An `exited` outcome, for handlers. */
export function exited(exitCode: number, stdout = '', stderr = ''): ExecOutcome {
  return { kind: 'exited', exitCode, stdout, stderr, truncated: false, durationMs: 1 };
}

/** An outcome of any other kind, for handlers. */
export function ended(kind: 'timed-out' | 'out-of-memory' | 'out-of-disk', stdout = '', stderr = ''): ExecOutcome {
  const output = { stdout, stderr, truncated: false, durationMs: 1 };
  return kind === 'timed-out' ? { ...output, kind, survived: true } : { ...output, kind };
}

/** A time-out after which the command could not be killed. */
export function stuck(stdout = ''): ExecOutcome {
  return { kind: 'timed-out', survived: false, stdout, stderr: '', truncated: false, durationMs: 1 };
}

/** What every command comes to in a container in which none can start any more. */
export function neverStarted(): ExecOutcome {
  return { kind: 'exited', exitCode: 126, neverStarted: true, stdout: '', stderr: '', truncated: false, durationMs: 1 };
}

/** Sandboxes in memory: files are a map, commands are played by a function, faults come when told to. */
export class FakeSandbox extends Sandbox {
  readonly limits: SandboxLimits;
  /** Sessions ever asked for, and commands ever started; the n-th in `failOpen` and `failExec` counts these from 1. */
  opens = 0;
  execs = 0;
  /** Every request in order. */
  readonly requests: ExecRequest[] = [];
  readonly #sessions = new Set<FakeSession>();
  readonly #openFaults = new Map<number, Error>();
  readonly #execFaults = new Map<number, Error>();

  constructor(
    readonly handler: FakeHandler,
    private readonly options: FakeSandboxOptions = {},
  ) {
    super();
    this.limits = { cpus: 1, memoryMb: 512, diskMb: 512, pids: 128, outputBytes: 65_536, ...options.limits };
  }

  /** Sessions open now. */
  get openNow(): number {
    return this.#sessions.size;
  }

  failOpen(nth: number, error: Error): this {
    this.#openFaults.set(nth, error);
    return this;
  }

  failExec(nth: number, error: Error): this {
    this.#execFaults.set(nth, error);
    return this;
  }

  async describeImage(image: string, signal: AbortSignal): Promise<ImageDescription> {
    signal.throwIfAborted();
    if (this.options.images !== undefined && !(image in this.options.images)) throw new ImageMissingError(image);
    return { id: `sha256:${createHash('sha256').update(image).digest('hex')}` };
  }

  async open(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxSession> {
    signal.throwIfAborted();
    const fault = this.#openFaults.get(++this.opens);
    if (fault !== undefined) throw fault;
    await this.describeImage(spec.image, signal);
    const image = this.options.images?.[spec.image];
    if (image !== undefined) assertHolds(image, spec);
    const files = Object.entries(image?.files ?? {}).map(([path, text]): [string, Uint8Array] => [path, encode(text)]);
    const session = new FakeSession(this, spec, new Map(files), () => this.#sessions.delete(session));
    this.#sessions.add(session);
    return session;
  }

  /** Counts a command; returns the fault it was told to meet. */
  started(request: ExecRequest): Error | undefined {
    this.requests.push(request);
    return this.#execFaults.get(++this.execs);
  }

  concerns(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  async sweep(): Promise<number> {
    return 0;
  }

  async engineVersion(): Promise<string> {
    return 'fake 1';
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()));
  }
}

class FakeSession implements SandboxSession, FakeSessionView {
  readonly baseCommit = 'b'.repeat(40);
  readonly testsUser: Ids | null;
  #closed = false;

  constructor(
    private readonly sandbox: FakeSandbox,
    readonly spec: SandboxSpec,
    readonly files: Map<string, Uint8Array>,
    private readonly onClose: () => void,
  ) {
    this.testsUser = spec.separatesUsers === true ? { uid: 59_999, gid: 59_999 } : null;
  }

  get image(): string {
    return this.spec.image;
  }

  async exec(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome> {
    this.#assertOpen(signal);
    const fault = this.sandbox.started(request);
    let stopListening: () => void = () => undefined;
    const aborted = new Promise<never>((_, reject) => {
      const onAbort = (): void => {
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      stopListening = () => {
        signal.removeEventListener('abort', onAbort);
      };
    });
    try {
      if (fault !== undefined) throw fault;
      const played = await Promise.race([this.#play(request), aborted]);
      const wanted = request.survivesTimeout === true;
      const outcome = played.kind === 'timed-out' ? { ...played, survived: played.survived && wanted } : played;
      request.onStdout?.(encode(outcome.stdout));
      const goesOn = outcome.kind === 'exited' || (outcome.kind === 'timed-out' && outcome.survived);
      if (!goesOn) await this.close();
      return outcome;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      stopListening();
    }
  }

  async writeFiles(files: readonly SandboxFile[], signal: AbortSignal): Promise<void> {
    this.#assertOpen(signal);
    for (const { path, content } of files) {
      const parent = [...this.files.keys()].find((each) => path.startsWith(`${each}/`));
      if (parent !== undefined) throw new BadInputError(`cannot write files: ${parent} is not a directory`);
      this.files.set(normal(path), typeof content === 'string' ? encode(content) : Uint8Array.from(content));
    }
  }

  async readFile(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    this.#assertOpen(signal);
    return this.files.get(normal(path))?.slice(0, maxBytes) ?? null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.onClose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #play(request: ExecRequest): Promise<ExecOutcome> {
    return this.sandbox.handler(request, this);
  }

  #assertOpen(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closed) throw new SandboxLostError('the session is closed');
  }
}

function assertHolds(image: FakeImage, { workdir, baseCommit }: SandboxSpec): void {
  if (!image.workdirs.includes(workdir)) {
    throw new BadInputError(`no directory ${workdir}`, { field: 'environment.workdir' });
  }
  if (baseCommit !== null && !image.commits?.includes(baseCommit)) {
    throw new BadInputError(`no commit ${baseCommit}`, { field: 'environment.base_commit' });
  }
}

function normal(path: string): string {
  const result = posix.normalize(path);
  if (!path.startsWith('/') || result.endsWith('/')) {
    throw new BadInputError(`"${path}" is not the absolute path of a file`);
  }
  return result;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
