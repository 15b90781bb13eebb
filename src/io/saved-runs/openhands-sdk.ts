import { z } from 'zod';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import { MaybeText, Text, textOf } from './saved-records.js';

const Maybe = MaybeText.catch(null);
const Event = z.object({
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
type Event = z.infer<typeof Event>;

/** Of the agent, but nothing that it did. */
const SILENT: ReadonlySet<string> = new Set(['SystemPromptEvent', 'TokenEvent', 'StreamingDeltaEvent']);

/**
 * An event of the SDK (V1), told by its `kind`: `action` and `observation` are objects, `action_id` names the action that is
 * answered. Of kinds that are not known only the name and what the agent says are kept.
 */
export function sdkEvent(row: Row): Told {
  const event = Event.parse(row);
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

function spoke({ kind, id, llm_message: said, message, content }: Event): Told {
  const step = { thought: (said?.content ?? message) || content, action: kind, observation: '' };
  return { step: kind === 'MessageEvent' ? { ...step, action: 'message' } : step, ids: idsOf(id), finishes: false };
}

function acted(event: Event): Told {
  const tool = event.tool_name ?? event.tool_call?.name ?? '';
  const step = { thought: thoughtOf(event), action: `${tool} ${askedOf(event)}`.trim(), observation: '' };
  return { step, ids: idsOf(event.id, event.tool_call_id), finishes: tool === 'finish' };
}

function thoughtOf({ thought, reasoning_content: reasoning, thinking_blocks: blocks }: Event): string {
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

/** What a tool was asked; what the model called where that is not an action. */
function askedOf({ action, tool_call: call }: Event): string {
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

/** An event of a history, as it stands. */
export const Row = z.record(z.string(), z.unknown());
export type Row = z.infer<typeof Row>;

/** What one event comes to: something the agent did, something it saw, or neither. */
export type Told = Did | Saw | null;

export interface Did {
  readonly step: TrajectoryStep;
  /** Of the event and of its call; what was seen names one of them. */
  readonly ids: readonly string[];
  /** Whether the agent said that it is done. */
  readonly finishes: boolean;
}

export interface Saw {
  readonly seen: string;
  /** Ids of what it answers, the surest first; empty when it does not say. */
  readonly of: readonly string[];
}

/** The ids that are there. */
export function idsOf(...ids: readonly unknown[]): string[] {
  return ids.flatMap((id) => (typeof id === 'string' || typeof id === 'number' ? [String(id)] : []));
}

const TELLING = ['command', 'code', 'path', 'content', 'old_str', 'new_str', 'file_text', 'final_thought', 'url'];

/** What an action was asked to do, without settings that say nothing. */
export function shown(args: Row, telling: readonly string[] = TELLING): string {
  const found = telling.flatMap((name) => (typeof args[name] === 'string' ? [`${name}=${args[name]}`] : []));
  return found.join('\n');
}
