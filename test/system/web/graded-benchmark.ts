import { RunRequest } from '../../../src/core/run/run-request.js';
import type { OpenStore } from '../../../src/store/store.js';
import { viewedRun } from '../../fixtures/viewed-runs.js';

/** Whether what an arm selected for an issue is right; null = its run failed. */
type Arm = Readonly<Record<string, boolean | null>>;

/** A benchmark that has ended, of two candidates an issue of which one is right. @returns its id */
export async function gradedBenchmark(
  { benchmarks, runs }: Pick<OpenStore, 'benchmarks' | 'runs'>,
  { title, arms }: { readonly title: string; readonly arms: Readonly<Record<string, Arm>> },
): Promise<string> {
  const { id } = await benchmarks.create(title, { title, hash: '', submitter: '' });
  const { request, result } = viewedRun({ candidates: 2, steps: 1, tests: 1 });
  const failure = { code: 'model-unavailable', message: 'The model does not answer.', next: 'Wait.' };
  for (const [arm, outcomes] of Object.entries(arms)) {
    for (const [index, [instance_id, right]] of Object.entries(outcomes).entries()) {
      const asked = RunRequest.parse({ ...request, issue: { ...request.issue, instance_id } });
      const { run } = await runs.create(`${id} ${arm} ${instance_id}`, asked, { alone: true, benchmark: { id, arm } });
      if (right === null) {
        await runs.update(run.id, { status: 'failed', failure });
        continue;
      }
      const selection = { ...result.selection, instance_id, confidence: 0.9 - index / 10 };
      await runs.update(run.id, { status: 'done', result: { ...result, selection } });
      const counts = { graded: 2, right_candidates: 1, ungraded: 0, best: [0.5, Number(right)] };
      await benchmarks.grade(run.id, { ...counts, right, document: { grades: [], ungraded: [] } });
    }
  }
  const names = Object.keys(arms);
  const instances = Object.keys(arms[names[0] ?? ''] ?? {});
  await benchmarks.begin(id, { arms: names.map((name) => ({ name, k: 2 })), instances, skipped: [] }, {});
  await benchmarks.change(id, { status: 'done', note: null }, ['running']);
  return id;
}
