import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import { Text, textOf } from '../../core/json.js';
import { placeOf } from '../records/records.js';
import { MaybeText, fieldsOf, idOf, MaybeNumber, originOf, stemOf } from './saved-records.js';
import type { Origin, RunReader, SavedRecord, Sealed } from './saved-run.js';

const Maybe = MaybeText.catch(null);
const SdkEvent = z.object({
  kind: z.string(),
  id: z.unknown().optional(),
  source: Maybe,
  tool_name: Maybe,
  tool_call_id: z.unknown().optional(),
  action_id: z.unknown().optional(),
  thought: z.unknown().optional(),
  reasoning_content: Maybe,
  thinking_blocks: z
    .array(z.object({ thinking: Maybe }).catch({ thinking: null }))
    .nullish()
    .catch(null),
  action: z.unknown().optional(),
  tool_call: z.object({ name: Maybe, arguments: Text }).nullish().catch(null),
  observation: z.unknown().optional(),
  llm_message: z.object({ content: Text }).nullish().catch(null),
  message: Text,
  content: Text,
  error: Text,
  rejection_reason: Text,
  detail: Text,
});
type SdkEvent = z.infer<typeof SdkEvent>;

/** Events of the agent that are not actions. */
const SILENT: ReadonlySet<string> = new Set(['SystemPromptEvent', 'TokenEvent', 'StreamingDeltaEvent']);

/**
 * Reads an event of the SDK (V1), identified by its `kind`: `action` and `observation` are objects, `action_id` names
 * the action that is answered. For unknown kinds, only the name and the agent's message are kept.
 */
export function sdkEvent(row: Row): Told {
  const event = SdkEvent.parse(row);
  const of = idsOf(event.action_id, event.tool_call_id);
  switch (event.kind) {
    case 'ActionEvent':
      return acted(event);
    case 'ObservationEvent':
      return { seen: seenIn(event.observation), of };
    case 'UserRejectObservation':
      return { seen: event.rejection_reason, of };
    case 'AgentErrorEvent':
      return { seen: event.error, of };
    case 'ConversationErrorEvent':
      return { seen: event.detail, of };
    default:
      return event.source === 'agent' && !SILENT.has(event.kind) ? spoke(event) : null;
  }
}

function spoke({ kind, id, llm_message: said, message, content }: SdkEvent): Told {
  const step = { thought: (said?.content ?? message) || content, action: kind, observation: '' };
  return { step: kind === 'MessageEvent' ? { ...step, action: 'message' } : step, ids: idsOf(id), finishes: false };
}

function acted(event: SdkEvent): Told {
  const tool = event.tool_name ?? event.tool_call?.name ?? '';
  const step = { thought: thoughtOf(event), action: `${tool} ${askedOf(event)}`.trim(), observation: '' };
  return { step, ids: idsOf(event.id, event.tool_call_id), finishes: tool === 'finish' };
}

function thoughtOf({ thought, reasoning_content: reasoning, thinking_blocks: blocks }: SdkEvent): string {
  const thinking = (blocks ?? []).map((block) => block.thinking ?? '');
  const parts = [...(reasoning === null || reasoning === '' ? thinking : [reasoning]), textOf(thought)];
  return parts.filter((part) => part !== '').join('\n');
}

const SDK_TELLING = [
  'command',
  'path',
  'old_str',
  'new_str',
  'file_text',
  'insert_line',
  'code',
  'url',
  'thought',
  'message',
];

/** The arguments of a tool call; those that the model wrote if `action` is not an object. */
function askedOf({ action, tool_call: call }: SdkEvent): string {
  const fields = Row.safeParse(action).data;
  if (fields === undefined) return textOf(action) || (call?.arguments ?? '');
  return shown(fields, SDK_TELLING) || JSON.stringify({ ...fields, kind: undefined });
}

const Observation = z.object({
  content: Text,
  output: Text,
  is_error: z.boolean().nullish().catch(null),
  exit_code: z.number().nullish().catch(null),
});

function seenIn(observation: unknown): string {
  const fields = Observation.safeParse(observation).data;
  if (fields === undefined) return textOf(observation);
  const { content, output, is_error: failed, exit_code: code } = fields;
  const parts = [failed === true ? '[error]' : '', content || output, code ? `[exit code ${code}]` : ''];
  return parts.filter((part) => part !== '').join('\n');
}

/** A raw event of a history. */
export const Row = z.record(z.string(), z.unknown());
export type Row = z.infer<typeof Row>;

/** An event's meaning: an action of the agent, an observation, or neither. */
export type Told = Did | Saw | null;

export interface Did {
  readonly step: TrajectoryStep;
  /** Ids of the event and of its call; an observation refers to one of them. */
  readonly ids: readonly string[];
  /** Whether the agent declared that it is done. */
  readonly finishes: boolean;
}

export interface Saw {
  readonly seen: string;
  /** Ids of the action it answers, most reliable first; empty if none is given. */
  readonly of: readonly string[];
}

/** The ids that are present. */
export function idsOf(...ids: readonly unknown[]): string[] {
  return ids.flatMap((id) => (typeof id === 'string' || typeof id === 'number' ? [String(id)] : []));
}

const TELLING = ['command', 'code', 'path', 'content', 'old_str', 'new_str', 'file_text', 'final_thought', 'url'];

/** An action's arguments, without uninformative settings. */
export function shown(args: Row, telling: readonly string[] = TELLING): string {
  const found = telling.flatMap((name) => (typeof args[name] === 'string' ? [`${name}=${args[name]}`] : []));
  return found.join('\n');
}

const Usage = z.object({ prompt_tokens: MaybeNumber, completion_tokens: MaybeNumber });
const Model = z.object({ model: MaybeText });
const Output = z.object({
  instance_id: z.coerce.string().min(1),
  test_result: z.object({ git_patch: MaybeText }).nullish(),
  git_patch: MaybeText,
  /** `llm` in the SDK's form. */
  metadata: z
    .object({ llm_config: Model.nullish(), llm: Model.nullish().catch(null), agent_class: MaybeText })
    .nullish(),
  /** Events of the SDK or its predecessor, or in the oldest form pairs of an action and its observation. */
  history: z.array(z.union([Row, z.array(Row)])).nullish(),
  metrics: z.object({ accumulated_cost: MaybeNumber, accumulated_token_usage: Usage.nullish() }).nullish(),
  error: MaybeText.catch(null),
  instance: z.object({ problem_statement: MaybeText }).nullish(),
});

/**
 * OpenHands' `output.jsonl` (`EvalOutput`). `instance` is the benchmark's whole row, `test_result` may contain a
 * report. The oldest versions have the patch and the report next to it.
 */
export const openHands: RunReader = {
  format: 'openhands',
  recognises: (value) =>
    'instance_id' in value &&
    ('test_result' in value || 'git_patch' in value) &&
    ('history' in value || 'metadata' in value),
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
      patch: patchIn(fields, record),
      trajectory: { steps, exit_reason },
      origin: originOf('openhands', record, { ...said, exit_reason }),
    };
    return { runs: [run], sealed: [{ instance_id, candidate_id, ...sealedOf(record.value) }] };
  },
};

/** @throws BadInputError if the row has only an error, as of a lost runtime */
function patchIn({ test_result, git_patch, error, history }: z.infer<typeof Output>, record: SavedRecord): string {
  const patch = test_result?.git_patch ?? git_patch;
  if (!error || patch !== null || (history ?? []).length > 0) return patch ?? '';
  throw new BadInputError(`holds no run, only an error: ${error.slice(0, 500)}`, placeOf(record, 'error'));
}

function saidOf({ metadata, metrics }: z.infer<typeof Output>): Partial<Origin> {
  const { accumulated_cost: cost_usd = null, accumulated_token_usage: tokens } = metrics ?? {};
  const { prompt_tokens: input_tokens = null, completion_tokens: output_tokens = null } = tokens ?? {};
  return { id: metadata?.agent_class ?? null, model: modelOf(metadata), cost_usd, input_tokens, output_tokens };
}

function modelOf(metadata: z.infer<typeof Output>['metadata']): string | null {
  const { llm, llm_config: before } = metadata ?? {};
  return llm?.model ?? before?.model ?? null;
}

const Report = z.object({ resolved: z.boolean(), error_eval: z.boolean().nullish() });

function sealedOf(value: Row): Pick<Sealed, 'resolved' | 'reason' | 'sealed'> {
  const { report: within, ...others } = Row.safeParse(value.test_result).data ?? {};
  const report = within ?? value.report;
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => name !== 'git_patch'));
  const { resolved = null, error_eval: wasLost } = Report.safeParse(report).data ?? {};
  const parts: Sealed['sealed'] = [
    { kind: 'instance', value: value.instance },
    { kind: 'report', value: report },
    { kind: 'test-log', value: Object.keys(rest).length === 0 ? null : rest },
  ];
  const sealed = parts.filter((part) => part.value !== null && part.value !== undefined);
  // If the evaluation itself failed, OpenHands writes that the patch does not resolve the issue.
  if (wasLost === true) return { resolved: null, reason: 'the evaluation itself failed (error_eval)', sealed };
  return { resolved, sealed };
}

/** The agent's actions with their observations, and how it ended: `finished` if it declared so itself. */
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

/** An observation belongs to the action it names; otherwise to the last action, if that has none yet. */
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

/** An event from before the SDK: `action` or `observation` is a word, `cause` the id of the answered action. */
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
