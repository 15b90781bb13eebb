import type { Issue } from '../../src/core/run/issue.js';
import { type Sandbox, type SandboxSession, sandboxSpec } from '../../src/ports/sandbox.js';

const DEADLINE_S = 120;
const READ_BYTES = 1024 * 1024;

/** `g` is git without the ownership check (safe.directory) and without quoted paths. */
const GIT = `g() { git -c safe.directory='*' -c core.quotePath=false "$@"; }\n`;

/** The repository at base, in a container that runs none of its code: it is read through git and as files. */
export class BaseRepository implements AsyncDisposable {
  private readonly texts = new Map<string, Promise<string | null>>();
  private readonly answers = new Map<string, Promise<string | null>>();

  private constructor(
    private readonly session: SandboxSession,
    private readonly workdir: string,
  ) {}

  /** @param purpose the reader, for the container's label @throws what the sandbox throws */
  static async open(
    sandbox: Sandbox,
    { environment }: Pick<Issue, 'environment'>,
    purpose: string,
    signal: AbortSignal,
  ): Promise<BaseRepository> {
    return BaseRepository.over(await sandbox.open(sandboxSpec(environment, purpose), signal), environment.workdir);
  }

  /** Uses a session that is already open. */
  static over(session: SandboxSession, workdir: string): BaseRepository {
    return new BaseRepository(session, workdir);
  }

  /**
   * Stdout of a shell script, cached; `g` is git in it. Names are passed as arguments and stdin lines, where they stay data.
   * @returns null when it fails or times out
   */
  ask(
    script: string,
    { args = [], lines = [] }: { readonly args?: readonly string[]; readonly lines?: readonly string[] },
    signal: AbortSignal,
  ): Promise<string | null> {
    const key = JSON.stringify([script, args, lines]);
    const known = this.answers.get(key);
    if (known !== undefined) return known;
    const argv = ['/bin/sh', '-c', `${GIT}${script}`, 'sh', ...args];
    const stdin = lines.map((line) => `${line}\n`).join('');
    const answer = this.session
      .exec({ argv, stdin, deadlineS: DEADLINE_S }, signal)
      .then((ended) => (ended.kind === 'exited' ? ended.stdout : null));
    this.answers.set(key, answer);
    return answer;
  }

  /** A file's text, cut to the first MiB; null if it does not exist. */
  text(path: string, signal: AbortSignal): Promise<string | null> {
    const known = this.texts.get(path);
    if (known !== undefined) return known;
    const read = this.session
      .readFile(`${this.workdir}/${path}`, READ_BYTES, signal)
      .then((bytes) => (bytes === null ? null : new TextDecoder().decode(bytes)));
    this.texts.set(path, read);
    return read;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.session.close();
  }
}
