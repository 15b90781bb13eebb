import { BestkError, EXIT } from '../core/errors/errors.js';
import { z } from 'zod';
import type { RunEvent } from '../ports/run-store.js';
import { type Eta, etaText } from '../core/async/time.js';
import type { RunRequest } from '../core/run/run-request.js';
import { Branched, Refined } from '../core/run/run-result.js';
import { visible, visibleJson, visibleLine } from '../core/hostile-text.js';
import { withInterval } from '../reports/figures.js';
import { Between, type Cost, type Estimate, estimateAll } from '../runs/estimate.js';
import type { App } from './command.js';
import { wilson } from '../statistics/intervals/binomial.js';

/** Prints one document on stdout; the only output there. */
export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(value, 2)}\n`);
}

export function printText(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Progress and notices, on stderr. */
export function printProgress(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Prints a sentence about what was read; its text may come from files. */
export function printNote(note: string): void {
  printProgress(`Note: ${visibleLine(note)}.`);
}

/** Prints a progress line if the event has one. */
export function printEvent(event: RunEvent): void {
  const line = progressLine(event);
  if (line !== null) printProgress(line);
}

/** Prints the error and its remedy, as text or as one JSON document. @returns the exit code */
export function printFailure(error: unknown, asJson: boolean): number {
  if (!(error instanceof BestkError)) throw error;
  if (asJson) printJson({ error: { code: error.code, message: error.message, next: error.next } });
  // Both may contain untrusted text: a path in a data set, a reply of a model server.
  printProgress(`bestk: ${visible(error.message)}\n${visible(error.next)}`);
  return error.exitCode;
}

const Started = z.object({
  instance_id: z.string(),
  k: z.int(),
  verifiers: z.array(z.string()),
  preset: z.string(),
  ...Between.shape,
});
const Told = z.object({
  candidate_id: z.string().nullable(),
  suite: z.string(),
  test_id: z.string(),
  outcome: z.string(),
  kind: z.string().optional(),
  duration_ms: z.number(),
  passed: z.number().nullable(),
  total: z.number().nullable(),
});
const RolledOut = z.object({
  candidate_id: z.string(),
  exit_reason: z.string(),
  steps: z.int(),
  patch_lines: z.int(),
  tokens: z.int(),
  seconds: z.number(),
  last_output: z.string().optional(),
});
const Sampled = z.object({
  asked: z.int(),
  sampled: z.int(),
  stopped: z.string(),
  detail: z.string(),
  failed: z.array(z.object({ candidate_id: z.string(), message: z.string() })),
});
const SecondWave = Refined.pick({ sampled: true, told_of: true, detail: true });
const Branches = Branched.pick({ sampled: true, from: true, detail: true });
const WrittenTests = z.object({ tests: z.int(), unreadable: z.int(), harvested: z.int().default(0) });
const ObservingTests = z.object({ tests: z.int(), round: z.int() });
const SeparatingTests = z.object({ tests: z.int(), equivalent: z.boolean().default(false) });
const MendedTests = z.object({ refused: z.int(), tests: z.int() });
const Existing = z.object({
  runner: z.string().nullable(),
  command: z.string(),
  files: z.array(z.string()),
  reaching: z.int().nullable(),
  seconds: z.number(),
});
const Admitted = z.array(z.object({ test_id: z.string(), admitted: z.boolean() }));

/** One line of progress, or null for an event without one. */
export function progressLine({ type, data }: RunEvent): string | null {
  return Object.hasOwn(LINES, type) ? (LINES[type]?.(data) ?? null) : null;
}

const LINES: Readonly<Record<string, (data: RunEvent['data']) => string>> = {
  started: (data) => {
    const { instance_id, k, verifiers, preset, ...between } = Started.parse(data);
    const judged = verifiers.length === 0 ? 'no verifiers' : `verifiers ${verifiers.join(' and ')}`;
    const plan = `${k} candidates, ${judged}, preset ${visibleLine(preset)}`;
    return `${visibleLine(instance_id)}: ${plan}; ${estimateLine(between)}`;
  },
  rollout: (data) => rolloutLine(RolledOut.parse(data)),
  sampled: (data) => {
    const { sampled, detail, failed } = Sampled.parse(data);
    const lost = failed.map(
      ({ candidate_id, message }) => `\n${candidate_id} could not be sampled: ${visibleLine(message)}`,
    );
    return `sampled ${sampled}: ${detail}${lost.join('')}`;
  },
  refined: (data) => {
    const { sampled, told_of, detail } = SecondWave.parse(data);
    return sampled === 0
      ? `no second wave: ${detail}`
      : `second wave of ${sampled}, told of ${told_of.join(', ')}: ${detail}`;
  },
  branched: (data) => {
    const { sampled, from, detail } = Branches.parse(data);
    if (from === null) return `no branches: ${detail}`;
    return `branches from step ${from.steps} of ${from.candidate_id}, ${sampled} made: ${detail}`;
  },
  'tests-written': (data) => {
    const { tests, unreadable, harvested } = WrittenTests.parse(data);
    const none = unreadable === 0 ? '' : `, ${unreadable} answers without any`;
    return `tests: ${tests} written${none}${harvested === 0 ? '' : `, ${harvested} from the candidates' own trajectories`}`;
  },
  'tests-mended': (data) => {
    const { refused, tests } = MendedTests.parse(data);
    return `tests: ${refused} refused on base, ${tests} written in their place`;
  },
  'tests-separating': (data) => {
    const { tests, equivalent } = SeparatingTests.parse(data);
    if (equivalent) return 'tests: the leaders are tied; their author takes them for equivalent';
    return `tests: the leaders are tied; ${tests} more written to tell them apart`;
  },
  'tests-observing': (data) => {
    const { tests, round } = ObservingTests.parse(data);
    return `tests: round ${round} of inputs that may split the candidates, ${tests} written`;
  },
  'existing-tests': (data) => {
    const { runner, command, files, reaching, seconds } = Existing.parse(data);
    const how = runner === null ? '' : `${runner} recognised (${visibleLine(command)}), `;
    const reached = reaching === null ? 'by their names' : `${reaching} tests reach what the patches change`;
    return `existing tests: ${how}${files.length} files chosen in ${seconds.toFixed(1)} s, ${reached}`;
  },
  admission: (data) => {
    const admissions = Admitted.parse(data);
    return `tests: ${admissions.filter(({ admitted }) => admitted).length} of ${admissions.length} admitted`;
  },
  cell: (data) => {
    const { candidate_id, suite, test_id, outcome, kind, duration_ms, passed, total } = Told.parse(data);
    const who = visibleLine(candidate_id ?? 'base');
    const what = suite === 'regression' ? `regression ${passed ?? 0}/${total ?? 0}` : `test ${visibleLine(test_id)}`;
    const typed = kind === undefined ? '' : `, ${kind}`;
    return `${who}: ${what} ${outcome}${typed} (${(duration_ms / 1000).toFixed(1)} s)`;
  },
};

/** Progress of several runs. */
export interface Standing {
  /** Count by state, in display order; zeros are not shown. */
  readonly states: Readonly<Record<string, number>>;
  /** Count by reason. */
  readonly failed: Readonly<Record<string, number>>;
  /** Grades of the selected candidates; null while nothing is graded. */
  readonly outcomes: { readonly right: number; readonly of: number } | null;
  readonly tokens: number;
  readonly usd: number;
  readonly eta: Eta | null;
}

/** Progress of a set or a benchmark in one line. */
export function standingLine({ states, failed, outcomes, tokens, usd, eta }: Standing): string {
  const some = (counts: Readonly<Record<string, number>>, text: (name: string, count: number) => string): string[] =>
    Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [text(visibleLine(name), count)]));
  const known = outcomes === null || outcomes.of === 0 ? null : outcomes;
  const parts = [
    some(states, (name, count) => `${count} ${name}`).join(', '),
    some(failed, (name, count) => `${count} failed (${name})`).join(', '),
    known === null ? '' : `right ${known.right} of ${known.of}, ${withInterval(rateOf(known))}`,
    tokens === 0 ? '' : `${tokens.toLocaleString('en')} tokens`,
    usd === 0 ? '' : `${usd.toFixed(2)} USD`,
    eta === null ? '' : etaText(eta),
  ];
  return parts.filter((part) => part !== '').join('; ');
}

function rateOf({ right, of }: NonNullable<Standing['outcomes']>) {
  return { value: right / of, ...wilson(right, of) };
}

/** The cost range of a run as text. */
export function estimateLine({ at_least, likely, at_most }: Between): string {
  if (at_most.model_calls === 0) return 'no model is called';
  const ends = (name: keyof Cost, text: (value: number) => string): string => {
    const [low, some, high] = [at_least, likely, at_most].map((cost) => text(cost[name] ?? 0));
    return low === high ? (high ?? '') : `${low} to ${high}, likely ${some}`;
  };
  const whole = (value: number): string => value.toLocaleString('en');
  const money = at_most.usd === null ? '' : `; USD: ${ends('usd', (value) => value.toFixed(2))}`;
  return `model calls: ${ends('model_calls', whole)}; tokens: ${ends('tokens', whole)}${money}`;
}

/** Prints the cost estimate of runs, and closes the application. @throws BadInputError for a run that is not possible */
export async function tellEstimate(app: App, requests: readonly RunRequest[], asJson: boolean): Promise<number> {
  try {
    const estimate = await estimateAll(requests, app.dependencies);
    if (asJson) printJson(estimate);
    else printText(estimateText(estimate));
    return EXIT.done;
  } finally {
    await app.close();
  }
}

/** An estimate as text: one line per part, and the sum. */
export function estimateText({ parts, ...sum }: Estimate): string {
  const asked = parts.filter(({ at_most }) => at_most.model_calls > 0);
  return [...asked.map(({ part, ...ends }) => `  ${part}: ${estimateLine(ends)}`), `in all: ${estimateLine(sum)}`].join(
    '\n',
  );
}

function rolloutLine({
  candidate_id,
  exit_reason,
  steps,
  patch_lines,
  tokens,
  seconds,
  last_output,
}: z.infer<typeof RolledOut>): string {
  const patch = patch_lines === 0 ? 'no patch' : `patch of ${patch_lines} lines`;
  const said =
    last_output === undefined
      ? ''
      : `; its output ends with: ${visibleLine(last_output.split('\n').slice(-3).join(' '))}`;
  return `${visibleLine(candidate_id)}: ${exit_reason} after ${steps} steps, ${patch}, ${tokens.toLocaleString('en')} tokens, ${seconds} s${said}`;
}
