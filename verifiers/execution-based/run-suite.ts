import type { Bench, Tree } from './bench.js';
import type { Job } from './job.js';
import { TreeSessions } from './tree-sessions.js';

/**
 * Runs the jobs of one tree, in order, in one fresh container; results that are stored already cost nothing, and when
 * all are, no container is started. Each result is stored before the next job begins.
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
  await using sessions = new TreeSessions(bench, tree, signal);
  for (const job of jobs) {
    if (results.has(job.key)) continue;
    const stored = job.schema.safeParse(await bench.results.get(job.key));
    const result = stored.success ? stored.data : await sessions.use((session) => job.run(session, signal));
    results.set(job.key, result);
    if (stored.success) continue;
    await bench.results.put(job.key, job.kind, result);
    if (job.closesSession(result)) await sessions.discard();
  }
  return results;
}
