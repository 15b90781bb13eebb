import { useEffect, useState } from 'preact/hooks';
import type { BenchmarkRunsView, BenchmarkStanding } from '../../http/benchmarks/benchmarks.controller.js';
import { getJson, queryOf } from '../api.js';
import { follow } from '../run/live-run.js';
import type { Answer } from '../use-answer.js';
import type { BenchmarkRun } from './benchmark-model.js';

/** How often at most what belongs to it is read again, however much happens. */
const FRAME_MS = 2_000;

/** The path of something of a benchmark. */
export function benchmarkPath(id: string, ...rest: readonly string[]): string {
  return `/v1/benchmarks/${[id, ...rest].map(encodeURIComponent).join('/')}`;
}

/** Every run of a benchmark, page by page. @param path of its runs */
export async function allRuns(path: string, signal: AbortSignal): Promise<readonly BenchmarkRun[]> {
  const all: BenchmarkRun[] = [];
  for (let cursor: string | null = null; ;) {
    const page = (await getJson(`${path}${queryOf({ limit: 5_000, cursor })}`, signal)) as BenchmarkRunsView;
    all.push(...page.runs);
    cursor = page.next_cursor;
    if (cursor === null) return all;
  }
}

/** As the service tells it; `reloadRest` reads again what stands behind it. */
export function useStanding(
  id: string,
  { data, reload }: Answer<BenchmarkStanding>,
  reloadRest: () => void,
): BenchmarkStanding | null {
  const [told, setTold] = useState<BenchmarkStanding | null>(null);
  const status = data?.status;
  useEffect(() => {
    if (status === undefined) return undefined;
    const gone = new AbortController();
    let moved = false;
    const frame = setInterval(() => {
      if (moved) reloadRest();
      moved = false;
    }, FRAME_MS);
    const take = (event: { readonly data: unknown }): void => {
      setTold(event.data as BenchmarkStanding);
      moved = true;
    };
    void follow(benchmarkPath(id, 'events'), take, gone.signal).then(reloadRest, () => undefined);
    return () => {
      clearInterval(frame);
      gone.abort();
    };
  }, [id, status, reload]);
  return told === null || (data !== null && data.updated_at > told.updated_at) ? data : told;
}
