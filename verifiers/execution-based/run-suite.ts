import { UnavailableError } from '../../src/core/errors.js';
import type { SandboxSession } from '../../src/ports/sandbox.js';
import { applyPatch } from './apply-patch.js';
import type { Bench, Tree } from './bench.js';
import type { Job } from './job.js';

const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 500;

/**
 * Runs the jobs of one tree, in order, in one fresh container; results that are stored already cost nothing, and when
 * all are, no container is started. Each result is stored before the next job begins. Infrastructure failures repeat the
 * job in a fresh container, at most three times.
 * @returns results by job key
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function runSuite<R>(
  bench: Bench,
  tree: Tree,
  jobs: readonly Job<R>[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, R>> {
  const results = new Map<string, R>();
  const missing: Job<R>[] = [];
  for (const job of jobs) {
    const stored = job.schema.safeParse(await bench.results.get(job.key));
    if (stored.success) results.set(job.key, stored.data);
    else missing.push(job);
  }
  await using sessions = new TreeSessions(bench, tree);
  for (const job of missing) {
    if (results.has(job.key)) continue;
    const result = await withRetries(bench, sessions, job, signal);
    await bench.results.put(job.key, job.kind, result);
    results.set(job.key, result);
    if (job.closesSession(result)) await sessions.discard();
  }
  return results;
}

async function withRetries<R>(bench: Bench, sessions: TreeSessions, job: Job<R>, signal: AbortSignal): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await job.run(await sessions.current(signal), signal);
    } catch (error) {
      await sessions.discard();
      signal.throwIfAborted();
      if (!(error instanceof UnavailableError) || !error.retryable || attempt === ATTEMPTS) throw error;
      await bench.pause(FIRST_PAUSE_MS * 4 ** (attempt - 1), signal);
    }
  }
}

/** At most one open session on the patched tree, opened when first needed. */
class TreeSessions implements AsyncDisposable {
  private session: SandboxSession | null = null;

  constructor(
    private readonly bench: Bench,
    private readonly tree: Tree,
  ) {}

  async current(signal: AbortSignal): Promise<SandboxSession> {
    if (this.session !== null) return this.session;
    const { environment, instance_id } = this.bench.issue;
    const session = await this.bench.sandbox.open(
      {
        image: environment.image,
        workdir: environment.workdir,
        baseCommit: environment.base_commit,
        purpose: `verify ${instance_id}`,
      },
      signal,
    );
    this.session = session;
    await applyPatch(session, this.tree, signal);
    return session;
  }

  async discard(): Promise<void> {
    const session = this.session;
    this.session = null;
    await session?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }
}
