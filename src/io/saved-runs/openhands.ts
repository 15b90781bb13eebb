import { z } from 'zod';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import { fieldsOf, idOf, MaybeNumber, MaybeText, originOf, stemOf, Text } from './saved-records.js';
import { type Did, idsOf, Row, type Saw, sdkEvent, shown, type Told } from './openhands-sdk.js';
import type { Origin, RunReader, Sealed } from './saved-run.js';

const Usage = z.object({ prompt_tokens: MaybeNumber, completion_tokens: MaybeNumber });
const Model = z.object({ model: MaybeText });
const Output = z.object({
  instance_id: z.coerce.string().min(1),
  test_result: z.object({ git_patch: MaybeText }).nullish(),
  /** `llm` is the SDK's. */
  metadata: z
    .object({ llm_config: Model.nullish(), llm: Model.nullish().catch(null), agent_class: MaybeText })
    .nullish(),
  /** Events of the SDK or those before it, or in the oldest form pairs of an action and its observation. */
  history: z.array(z.union([Row, z.array(Row)])).nullish(),
  metrics: z.object({ accumulated_cost: MaybeNumber, accumulated_token_usage: Usage.nullish() }).nullish(),
  error: MaybeText.catch(null),
  instance: z.object({ problem_statement: MaybeText }).nullish(),
});

/** OpenHands' `output.jsonl` (`EvalOutput`). `instance` is the whole row of the benchmark, `test_result` may hold a report. */
export const openHands: RunReader = {
  format: 'openhands',
  recognises: (value) =>
    'instance_id' in value && 'test_result' in value && ('history' in value || 'metadata' in value),
  read: (record) => {
    const fields = fieldsOf(Output, record);
    const { instance_id } = fields;
    const { steps, ended } = stepsOf(fields.history?.flat() ?? []);
    const said = saidOf(fields);
    const candidate_id = idOf(stemOf(record.file) === 'output' ? said.model : stemOf(record.file), said.model);
    const exit_reason = fields.error === null || fields.error === '' ? ended : 'error';
    const run = {
      instance_id,
      candidate_id,
      problem_statement: fields.instance?.problem_statement ?? null,
      image: null,
      patch: fields.test_result?.git_patch ?? '',
      trajectory: { steps, exit_reason },
      origin: originOf('openhands', record, { ...said, exit_reason }),
    };
    return { runs: [run], sealed: [{ instance_id, candidate_id, ...sealedOf(record.value) }] };
  },
};

function saidOf({ metadata, metrics }: z.infer<typeof Output>): Partial<Origin> {
  const { accumulated_cost: cost_usd = null, accumulated_token_usage: tokens } = metrics ?? {};
  const { prompt_tokens: input_tokens = null, completion_tokens: output_tokens = null } = tokens ?? {};
  return { id: metadata?.agent_class ?? null, model: modelOf(metadata), cost_usd, input_tokens, output_tokens };
}

function modelOf(metadata: z.infer<typeof Output>['metadata']): string | null {
  const { llm, llm_config: before } = metadata ?? {};
  return llm?.model ?? before?.model ?? null;
}

function sealedOf(value: Readonly<Record<string, unknown>>): Pick<Sealed, 'resolved' | 'sealed'> {
  const result = z.looseObject({ report: z.unknown() }).safeParse(value.test_result).data ?? {};
  const { report, ...others } = result as Record<string, unknown>;
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => name !== 'git_patch'));
  const resolved = z.object({ resolved: z.boolean() }).safeParse(report).data?.resolved ?? null;
  const parts: Sealed['sealed'] = [
    { kind: 'instance', value: value.instance },
    { kind: 'report', value: report },
    { kind: 'test-log', value: Object.keys(rest).length === 0 ? null : rest },
  ];
  return { resolved, sealed: parts.filter((part) => part.value !== null && part.value !== undefined) };
}

/** The agent's actions, each with what it saw, and how it ended: `finished` when it said so itself. */
export function stepsOf(history: readonly Row[]): { steps: TrajectoryStep[]; ended: string | null } {
  const done: TrajectoryStep[] = [];
  const byId = new Map<string, TrajectoryStep>();
  let ended: string | null = null;
  for (const row of history) {
    const told = typeof row.kind === 'string' ? sdkEvent(row) : legacyEvent(row);
    if (told === null) continue;
    if ('seen' in told) see(told, byId, done.at(-1));
    else {
      if (told.finishes) ended = 'finished';
      note(told, byId, done);
    }
  }
  return { steps: done, ended };
}

function note({ step, ids }: Did, byId: Map<string, TrajectoryStep>, done: TrajectoryStep[]): void {
  done.push(step);
  for (const id of ids) byId.set(id, step);
}

/** Belongs to the action it names; else to the last one, when that has seen nothing yet. */
function see({ seen, of }: Saw, byId: ReadonlyMap<string, TrajectoryStep>, last: TrajectoryStep | undefined): void {
  const named = of.flatMap((id) => byId.get(id) ?? [])[0];
  if (named !== undefined) named.observation = named.observation === '' ? seen : `${named.observation}\n${seen}`;
  else if (last?.observation === '') last.observation = seen;
}

const Event = z.object({
  id: z.unknown().optional(),
  cause: z.unknown().optional(),
  action: MaybeText.catch(null),
  observation: MaybeText.catch(null),
  source: MaybeText.catch(null),
  message: Text,
  content: Text,
  args: Row.nullish().catch(null),
});
type Event = z.infer<typeof Event>;

/** An event from before the SDK: `action` or `observation` is a word, `cause` the id of what is answered. */
export function legacyEvent(row: Row): Told {
  const event = Event.parse(row);
  if (event.observation !== null) return { seen: event.content || event.message, of: idsOf(event.cause) };
  if (event.source !== 'agent' || event.action === 'system') return null;
  return { step: stepOf(event), ids: idsOf(event.id), finishes: event.action === 'finish' };
}

function stepOf({ action, args, message }: Event): { thought: string; action: string; observation: string } {
  const { thought, ...rest } = args ?? {};
  const said = z.string().safeParse(thought).data ?? '';
  return { thought: said === '' ? message : said, action: `${action ?? ''} ${shown(rest)}`.trim(), observation: '' };
}
