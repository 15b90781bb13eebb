import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  allocationBudget,
  armRequest,
  checkDollars,
  reasonToStop,
  samplingEnds,
  type Tally,
} from '../../benchmarks/plan.js';
import { spentOn } from '../../core/budget/budget.js';
import { BestkError, EXIT, InterruptedError } from '../../core/errors/errors.js';
import { contentKey } from '../../core/identifier.js';
import type { RunRequest } from '../../core/run/run-request.js';
import type { DataSetInstance } from '../../io/datasets/data-set.js';
import type { ArmsReport } from '../../reports/benchmark/arms.js';
import { runOfSet } from '../../io/saved-runs/saved-files.js';
import { prepareFolder } from '../../reports/write-run.js';
import { allocate, sizeOf } from '../../runs/allocate.js';
import { type Estimate, estimateAll } from '../../runs/estimate.js';
import type { App, OpenApp } from '../command.js';
import { printProgress } from '../output.js';
import { askable, exitOfSet, runOne, runSet, type SetItem, type SetTold } from '../run-set.js';
import { gradeArms, type GradedArm, readBench, reportBench } from './bench-grade.js';
import { chosenInstances, ruleOf, savedInputs } from './bench-options.js';
import {
  agentsOf,
  type Arm,
  armFolder,
  type BenchPlan,
  type BenchState,
  newState,
  readOwnState,
  writeState,
} from './bench-plan.js';

/** The outcome of an arm. */
export type ArmTold = SetTold & GradedArm;

/** The folder of a benchmark, and the part to run. */
export interface BenchPlace {
  readonly out: string;
  /** Retry failed instances only, and start no new ones. */
  readonly failedOnly: boolean;
}

/**
 * Runs every arm over the instances, then grades all candidates, then writes the report. Results already in this folder are
 * reused. @returns the outcome of each arm, and the exit code
 * @throws BadInputError, InterruptedError
 */
export async function runBench(
  plan: BenchPlan,
  { out, failedOnly }: BenchPlace,
  openApp: OpenApp,
): Promise<{ readonly told: readonly ArmTold[]; readonly report: ArmsReport; readonly code: number }> {
  // Reports a wrong rule or limit before anything runs.
  for (const arm of plan.arms) {
    await ruleOf(arm);
    await checkLimits(plan, arm, openApp);
  }
  const instances = await chosenInstances(plan);
  await prepareFolder(out);
  const ids = instances.map(({ issue }) => issue.instance_id);
  const state: BenchState = { ...((await readOwnState(out)) ?? newState()), plan, instances: ids };
  const wanted = failedOnly ? await begunIn(out, state) : null;
  const told: ArmTold[] = [];
  for (const arm of plan.arms) {
    printProgress(`Arm ${arm.name}: ${instances.length} instances`);
    const set = await runArm({ plan, out, instances, state, before: told, wanted }, arm, openApp);
    told.push({ ...set, arm: arm.name, graded: 0, unknown: 0, ungraded: 0 });
  }
  // Grading waits until the selections of all arms are stored: no label exists while anything may still be selected.
  await gradeArms(plan, out, { instances, told }, openApp);
  const report = await reportBench(out, state);
  const codes = told.map((each) => (each.ungraded > 0 ? EXIT.unavailable : exitOfSet(each)));
  return { told, report, code: Math.max(...codes) };
}

/** @throws BadInputError for a limit in dollars if a price is unknown */
async function checkLimits(plan: BenchPlan, arm: Arm, openApp: OpenApp): Promise<void> {
  if (plan.budget.usd === undefined && arm.budget?.usd === undefined) return;
  const app = await openApp(settingsOf(arm));
  const has = { candidates: arm.candidates !== undefined, tests: arm.tests !== undefined };
  try {
    checkDollars(plan, { ...arm, ...agentsOf(arm) }, has, app.dependencies);
  } finally {
    await app.close();
  }
}

interface Bench {
  readonly plan: BenchPlan;
  readonly out: string;
  readonly instances: readonly DataSetInstance[];
  readonly state: BenchState;
  /** Arms that have already run. */
  readonly before: readonly ArmTold[];
  /** Ids of the instances to run, by arm; null = all. */
  readonly wanted: ReadonlyMap<string, ReadonlySet<string>> | null;
}

/** Instances that were started, by arm. */
async function begunIn(out: string, state: BenchState): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { arms } = await readBench(out, state);
  const begun = (outcomes: (typeof arms)[number]['outcomes']): Set<string> =>
    new Set([...outcomes].flatMap(([id, outcome]) => (outcome.state === 'waiting' ? [] : [id])));
  return new Map(arms.map(({ name, outcomes }) => [name, begun(outcomes)]));
}

async function runArm(bench: Bench, arm: Arm, openApp: OpenApp): Promise<SetTold> {
  const { plan, out, state, before, wanted } = bench;
  const app = await openApp(settingsOf(arm));
  const folder = armFolder(out, arm.name);
  const { setup, items } = await preparedArm(bench, arm, app).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  const command = `bench:${state.id}:${setup}`;
  const stop = (told: SetTold): string | null => reasonToStop(plan, tallyOf([...before, told]));
  const labels = (): Promise<null> => Promise.resolve(null);
  const meant = items.filter(({ instance_id }) => wanted?.get(arm.name)?.has(instance_id) ?? true);
  const set = { command, out: folder, parallel: plan.concurrency, once: true, drains: true };
  const prepare = (signal: AbortSignal, leaving: () => boolean): Promise<readonly SetItem[]> =>
    allocated({ plan, arm, app, command, before }, meant, { signal, leaving });
  return runSet(app, meant, { ...set, labels, stop, ...(arm.allocate === 'greedy' ? { prepare } : {}) });
}

/** The same instances, with rollouts distributed by expected gain; the rollouts are sampled here, and stored. */
async function allocated(
  { plan, arm, app, command, before }: Pick<Bench, 'plan' | 'before'> & AllocatedArm,
  items: readonly SetItem[],
  { signal, leaving }: { readonly signal: AbortSignal; readonly leaving: () => boolean },
): Promise<readonly SetItem[]> {
  const asked = await Promise.all(items.map(askable));
  const spentBefore = tallyOf(before);
  const granted = await allocate(asked.flat(), {
    atOnce: plan.concurrency,
    budget: allocationBudget(arm),
    stop: ({ tokens, usd }) => {
      const tally = { ...spentBefore, tokens: spentBefore.tokens + tokens, usd: spentBefore.usd + usd };
      return leaving() || samplingEnds(plan, tally);
    },
    sample: async (request) => {
      const one = { key: `${command}:${contentKey(request)}`, request, onEvent: () => undefined, once: true };
      try {
        return (await runOne(app, one, signal)).result;
      } catch (error) {
        // The failure is reported when the instance itself runs.
        if (error instanceof BestkError && !(error instanceof InterruptedError)) return { spent: spentOn(error) };
        throw error;
      }
    },
  });
  const rollouts = granted.reduce((sum, { request }) => sum + request.k, 0);
  printProgress(`Arm ${arm.name}: ${rollouts} rollouts for ${granted.length} instances`);
  const left = [...granted];
  return items.map((item, index) => {
    const given = asked[index]?.length === 0 ? undefined : left.shift();
    return given === undefined ? item : { ...item, request: () => given.request, paid: given.paid };
  });
}

interface AllocatedArm {
  readonly arm: Arm;
  readonly app: App;
  /** Part of the runs' keys. */
  readonly command: string;
}

/** The items of an arm and the hash of its settings; results made under other settings are removed. */
async function preparedArm({ plan, out, instances, state }: Bench, arm: Arm, app: App) {
  const folder = armFolder(out, arm.name);
  const setup = await app.setup();
  const key = contentKey([setup, arm, plan.budget.each ?? null]);
  const known = state.keys[arm.name];
  if (known !== undefined && known !== key) {
    const next = 'so it is repeated; unaffected results come from the store.';
    printProgress(`Arm ${arm.name}: its settings changed, ${next}`);
    await rm(folder, { recursive: true, force: true });
  }
  state.keys[arm.name] = key;
  await writeState(out, state);
  return { setup, items: await itemsOf(plan, arm, instances, folder) };
}

function settingsOf(arm: Arm): Readonly<Record<string, string>> {
  const { agent } = arm;
  const model = typeof agent === 'object' ? (agent.model ?? undefined) : agent;
  const placed = { ...arm.settings, ...agentsOf(arm).settings };
  return model === undefined ? placed : { ...placed, BESTK_AGENT_MODEL: model };
}

/** The requests of an arm; with saved candidates, that of an instance without any throws, so that it is skipped and reported. */
async function itemsOf(
  plan: BenchPlan,
  arm: Arm,
  instances: readonly DataSetInstance[],
  folder: string,
): Promise<readonly SetItem[]> {
  const ids = instances.map(({ issue }) => issue.instance_id);
  const inputOf = await savedInputs(arm, ids, folder);
  const rule = await ruleOf(arm);
  const executes = arm.candidates === undefined || (arm.judges?.includes('eb') ?? true);
  const isDone = (id: string): boolean => existsSync(join(runOfSet(folder, id) ?? folder, 'selection.json'));
  return instances.map(({ issue }) => ({
    instance_id: issue.instance_id,
    image: executes && !isDone(issue.instance_id) ? issue.environment.image : null,
    request: async () =>
      armRequest(plan, { ...arm, ...agentsOf(arm) }, rule, { issue, ...(await inputOf(issue.instance_id)) }),
  }));
}

function tallyOf(told: readonly SetTold[]): Tally {
  const sum = (value: (each: SetTold) => number): number => told.reduce((total, each) => total + value(each), 0);
  return {
    failed: sum(({ failed }) => failed),
    tokens: sum(({ spent }) => spent.tokens),
    usd: sum(({ spent }) => spent.usd),
  };
}

interface ArmEstimate extends Estimate {
  readonly arm: string;
  readonly instances: number;
}

/** Cost estimate of each arm; instances without a valid request are left out. @throws BadInputError */
export async function estimateBench(plan: BenchPlan, openApp: OpenApp): Promise<readonly ArmEstimate[]> {
  for (const arm of plan.arms) await checkLimits(plan, arm, openApp);
  const instances = await chosenInstances(plan);
  const folder = await mkdtemp(join(tmpdir(), 'bestk-estimate-'));
  try {
    const told = [];
    for (const arm of plan.arms) {
      const app = await openApp(settingsOf(arm));
      try {
        const items = await itemsOf(plan, arm, instances, join(folder, arm.name));
        const requests = (await Promise.all(items.map(askable))).flat();
        const most = allocationBudget(arm).rollouts;
        const allocation = arm.allocate === 'greedy' ? { firstOf: (one: RunRequest) => sizeOf(one).first, most } : null;
        const estimate = await estimateAll(requests, app.dependencies, allocation);
        told.push({ arm: arm.name, instances: requests.length, ...estimate });
      } finally {
        await app.close();
      }
    }
    return told;
  } finally {
    await rm(folder, { recursive: true });
  }
}
