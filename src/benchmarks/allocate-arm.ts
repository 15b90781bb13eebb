import { z } from 'zod';
import type { Wakeup } from '../core/async/time.js';
import { DEFAULT_K, RunRequest } from '../core/run/run-request.js';
import { RunResult } from '../core/run/run-result.js';
import type { Jobs } from '../jobs/jobs.js';
import type { BenchmarkStore } from '../ports/benchmark-store.js';
import type { ResultStore } from '../ports/result-store.js';
import { hasEnded, type RunStore } from '../ports/run-store.js';
import { allocate, type Allocation, allocationTag, type Keep, Round, type Sampled } from '../runs/allocate.js';
import { jobOfRun } from '../runs/job-handlers.js';
import { allocationBudget, type BenchmarkPlan, type SentArm } from './plan.js';

export interface AllocationTools {
  readonly benchmarks: BenchmarkStore;
  readonly runs: RunStore;
  readonly results: ResultStore;
  readonly jobs: Jobs;
  readonly ended: Wakeup;
  /** Identifies the settings that runs are executed under. */
  readonly setup: () => Promise<string>;
}

interface Allocated {
  readonly id: string;
  readonly submitter: string;
  readonly plan: BenchmarkPlan;
  readonly arm: SentArm;
  /** When the benchmark was started or resumed: what failed before is sampled again. */
  readonly since: string;
}

const LOOK_EVERY_MS = 100;

/**
 * Samples the issues of a greedy arm by separate runs, then sets each of the arm's runs to the number of rollouts its issue
 * got. Each round's decision is stored, and samples are reused, so that any process continues where another ended, whatever
 * was spent meanwhile. Does nothing if a run of the arm has already been handed over, or all of them are cancelled.
 * @param stop whether to start nothing more
 */
export async function allocateArm(
  tools: AllocationTools,
  { id, submitter, plan, arm, since }: Allocated,
  stop: (spent: Allocation['spent']) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const rows = await tools.benchmarks.runs(id, { arm: arm.name });
  const isCancelled = rows.map(({ status }) => status === 'cancelled');
  if (rows.some(({ handed }) => handed) || !isCancelled.includes(false)) return;
  const asked = await Promise.all(rows.map(async (row) => RunRequest.parse((await tools.runs.get(row.id))?.request)));
  // Resets k to the arm's: an interrupted allocation may have changed some requests.
  const requests = asked.map((request) => ({ ...request, k: arm.k ?? DEFAULT_K, k0: arm.k0 ?? null }));
  const sample = (request: RunRequest): Promise<Sampled> => {
    const tagged = { ...request, tags: [...(request.tags ?? []), allocationTag(id)] };
    const key = `benchmark ${id} ${arm.name} ${request.issue.instance_id} first ${request.k}`;
    return runToEnd(tools, { key, request: tagged, submitter, since }, signal);
  };
  const keep: Keep = async (number, spent, decide) => {
    const { results } = tools;
    const key = `benchmark ${id} ${arm.name} round ${number}`;
    const known = Round.safeParse(await results.get(key));
    if (known.success) return known.data;
    const round = decide();
    await results.put(spentKey(id, arm, number), 'allocation', spent);
    // The end is not kept: once failed runs are resumed, allocation goes on.
    if (round.length === 0) return round;
    // Another driver may have decided first.
    return Round.parse(await results.putFirst(key, 'allocation', round));
  };
  const granted = await allocate(requests, {
    atOnce: plan.concurrency,
    budget: allocationBudget(arm),
    sample,
    stop,
    keep,
    isCancelled,
  });
  signal.throwIfAborted();
  const paidFor = granted.flatMap(({ paid }, index) => (rows[index] ? [[rows[index].id, paid] as const] : []));
  await tools.results.put(paidKey(id, arm), 'allocation', Object.fromEntries(paidFor));
  for (const [index, { request, paid }] of granted.entries()) {
    const row = rows[index];
    signal.throwIfAborted();
    if (row !== undefined) await tools.benchmarks.ask(row.id, request, paid);
  }
}

/** What an arm had spent on sampling at its last decision, which is what its driver knew of it; null = it has made none. */
export async function spentOnSampling(
  { results }: Pick<AllocationTools, 'results'>,
  { id, arm }: Pick<Allocated, 'id' | 'arm'>,
): Promise<Allocation['spent'] | null> {
  let last: Allocation['spent'] | null = null;
  for (let number = 1; ; number += 1) {
    const known = SpentOnSampling.safeParse(await results.get(spentKey(id, arm, number)));
    if (!known.success) return last;
    last = known.data;
  }
}

export type SpentByArm = Allocation['spent'] & { readonly arm: string };

/**
 * What runs that wait to be repeated had spent beyond their rollouts: until they are handed over it is no reason to stop,
 * as they do not pay it again.
 */
export async function spentBefore(
  { benchmarks, results }: Pick<AllocationTools, 'benchmarks' | 'results'>,
  { id, plan }: Pick<Allocated, 'id' | 'plan'>,
): Promise<readonly SpentByArm[]> {
  const before: SpentByArm[] = [];
  for (const arm of plan.arms) {
    const isGreedy = arm.allocate === 'greedy';
    const paidFor = isGreedy ? Paid.safeParse(await results.get(paidKey(id, arm))).data : {};
    if (paidFor === undefined) continue;
    const waiting = await benchmarks.runs(id, { arm: arm.name, statuses: ['queued'], handed: false });
    for (const { id: run, tokens, cost_usd } of waiting) {
      const paid = paidFor[run] ?? { tokens: 0, usd: 0 };
      const usd = Math.max(0, (cost_usd ?? 0) - (paid.usd ?? 0));
      before.push({ arm: arm.name, tokens: Math.max(0, (tokens ?? 0) - paid.tokens), usd });
    }
  }
  return before;
}

const Paid = z.record(z.string(), z.object({ tokens: z.number(), usd: z.number().nullable() }));

/** Of what each run of an arm was paid for its rollouts. */
function paidKey(id: string, arm: SentArm): string {
  return `benchmark ${id} ${arm.name} paid for rollouts`;
}

const SpentOnSampling = z.object({ tokens: z.number(), usd: z.number() });

function spentKey(id: string, arm: SentArm, number: number): string {
  return `benchmark ${id} ${arm.name} spent before round ${number}`;
}

async function runToEnd(
  { runs, jobs, ended, setup }: AllocationTools,
  {
    key,
    request,
    submitter,
    since,
  }: Pick<Allocated, 'submitter' | 'since'> & {
    readonly key: string;
    readonly request: RunRequest;
  },
  signal: AbortSignal,
): Promise<Sampled> {
  signal.throwIfAborted();
  const { run } = await runs.create(key, request, { submitter, setup: await setup() });
  const opened = { status: 'queued', failure: null } as const;
  const again = run.updated_at < since && (await runs.update(run.id, opened, { statuses: ['failed', 'cancelled'] }));
  if (again || !hasEnded(run.status)) await jobs.submit(jobOfRun(run.id, submitter));
  for (;;) {
    const { rings } = ended;
    const status = (await runs.statusOf(run.id)) ?? 'cancelled';
    if (hasEnded(status)) break;
    await ended.wait(rings, LOOK_EVERY_MS, signal);
  }
  const { status, result, spent } = (await runs.get(run.id)) ?? { status: 'cancelled' };
  return status === 'done' ? RunResult.parse(result) : { spent };
}
