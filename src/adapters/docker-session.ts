import { BadInputError } from '../core/errors.js';
import { SandboxLostError } from '../core/unavailable.js';
import type { ExecOutcome, ExecRequest, SandboxFile, SandboxSession } from '../ports/sandbox.js';
import { absolutePath, isInMemory, putTar, readFromLayer, tarOf } from './docker-files.js';
import { runPlain } from './docker-run-plain.js';
import { runRequest, type Ground } from './docker-run.js';

const READ_FILE = '[ -f "$1" ] && [ ! -L "$1" ] || exit 3; exec head -c "$2" "$1"';
const NOT_A_FILE = 3;

/** Where a command waits for its turn. */
export interface Room {
  take(signal: AbortSignal): Promise<() => void>;
}

/** One container with a prepared repository. */
export class DockerSession implements SandboxSession {
  #closing: Promise<void> | null = null;
  #execs = 0;

  /**
   * `room` is what every command waits for; `dispose` removes the container and gives its slot back, and never throws.
   */
  constructor(
    private readonly ground: Ground,
    private readonly room: Room,
    private readonly dispose: () => Promise<void>,
  ) {}

  get baseCommit(): string {
    return this.ground.prepared.commit;
  }

  async exec(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome> {
    this.#assertOpen(signal);
    const first = this.#execs++ === 0;
    const release = await this.room.take(signal);
    try {
      const { outcome, isOver } = await this.#orClose(runRequest(this.ground, request, first, signal));
      if (isOver) await this.close();
      return outcome;
    } finally {
      release();
    }
  }

  async writeFiles(files: readonly SandboxFile[], signal: AbortSignal): Promise<void> {
    this.#assertOpen(signal);
    const { container, prepared } = this.ground;
    const inMemory = files.filter(({ path }) => isInMemory(absolutePath(path)));
    const inLayer = files.filter(({ path }) => !isInMemory(absolutePath(path)));
    if (inLayer.length > 0) await this.#orClose(putTar(container, await tarOf(inLayer, prepared.ids)));
    if (inMemory.length === 0) return;
    const stdin = await tarOf(inMemory, prepared.ids);
    const argv = ['tar', '-xof', '-', '-C', '/'];
    const { exitCode, stderr } = await this.#orClose(runPlain(container, { argv, stdin, signal }));
    if (exitCode !== 0) throw new BadInputError(`cannot write ${inMemory[0]?.path ?? ''}: ${stderr.toString()}`);
  }

  async readFile(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    this.#assertOpen(signal);
    const { container } = this.ground;
    const normal = absolutePath(path);
    if (!isInMemory(normal)) return this.#orClose(readFromLayer(container, normal, maxBytes));
    const argv = ['/bin/sh', '-c', READ_FILE, 'sh', normal, String(maxBytes)];
    const { exitCode, stdout, stderr } = await this.#orClose(
      runPlain(container, { argv, outputBytes: maxBytes, signal }),
    );
    if (exitCode === NOT_A_FILE) return null;
    if (exitCode !== 0) throw new BadInputError(`cannot read ${path}: ${stderr.toString()}`);
    return stdout;
  }

  close(): Promise<void> {
    this.#closing ??= this.dispose();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #assertOpen(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closing !== null) throw new SandboxLostError('the session is closed');
  }

  /** After an error the container is in a state nobody knows; only a wrong path leaves it as it was. */
  async #orClose<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof BadInputError)) await this.close();
      throw error;
    }
  }
}
