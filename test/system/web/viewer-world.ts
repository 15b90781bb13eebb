import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { OpenStore } from '../../../src/store/store.js';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { type Emit, RunExecutor } from '../../../src/runs/run-dependencies.js';
import type { ReportStore } from '../../../src/ports/benchmark-store.js';
import type { Run } from '../../../src/ports/run-store.js';
import { MemoryReportStore } from '../../fakes/memory-report-store.js';
import type { RunScript } from '../../fakes/scripted-executor.js';
import { until } from '../../fixtures/run-world.js';
import type { ViewedRun } from '../../fixtures/viewed-runs.js';
import { serveRuns } from '../../unit/http/http-world.js';

/** Plays the script that was left for a run's instance. */
class PlayedRuns extends RunExecutor {
  readonly scripts = new Map<string, RunScript>();

  override execute(run: Run, emit: Emit, signal: AbortSignal): Promise<Run['result']> {
    const script = this.scripts.get(RunRequest.parse(run.request).issue.instance_id);
    if (script === undefined) throw new Error('Nobody said what this run does.');
    return script(run, emit, signal);
  }
}

export interface ViewerWorld {
  readonly url: string;
  /** Starts a run that plays `script`. @returns its id */
  start(request: RunRequest, script: RunScript): Promise<string>;
  /** A run that has ended as `run` says. @returns its id */
  ended(run: ViewedRun): Promise<string>;
  /** From now on, runs of an instance play `script`. */
  plays(instance: string, script: RunScript): void;
  /** Sends a benchmark in. @returns its id */
  benchmark(lines: readonly unknown[]): Promise<string>;
  readonly store: OpenStore;
  close(): Promise<void>;
}

/** The built viewer before a real store in a folder of its own. */
export async function openViewerWorld(
  apiKeys: readonly string[] = [],
  reports: ReportStore = new MemoryReportStore(),
): Promise<ViewerWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'bestk-viewer-'));
  const store = await openSqliteStore(join(folder, 'store.sqlite'));
  const executor = new PlayedRuns();
  const server = await serveRuns(store.runs, executor, {
    benchmarks: store.benchmarks,
    apiKeys,
    reports,
    web: resolve('dist/src/web-assets'),
  });
  const headers = {
    'content-type': 'application/json',
    ...(apiKeys[0] === undefined ? {} : { 'x-api-key': apiKeys[0] }),
  };
  const start = async (request: RunRequest, script: RunScript): Promise<string> => {
    executor.scripts.set(request.issue.instance_id, script);
    const response = await fetch(`${server.url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify(request) });
    if (response.status !== 202) throw new Error(await response.text());
    return ((await response.json()) as { id: string }).id;
  };
  return {
    store,
    plays(instance, script) {
      executor.scripts.set(instance, script);
    },
    async benchmark(lines) {
      const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      const init = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/x-ndjson' } };
      return ((await (await fetch(`${server.url}/v1/benchmarks`, init)).json()) as { id: string }).id;
    },
    url: server.url,
    start,
    async ended({ request, result }) {
      const id = await start(request, async () => result);
      await until(async () => (await store.runs.statusOf(id)) === 'done');
      return id;
    },
    async close() {
      await server.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
