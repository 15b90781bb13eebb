import { z } from 'zod';
import { asSmallJson, listOf, Text } from '../../core/json.js';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import { Row, shown } from './openhands.js';
import { outcomeStatedBy } from './outcomes.js';
import { fieldsOf, idOf, MaybeText, originOf } from './saved-records.js';
import type { ReadRuns, RunReader, SavedRecord, Sealed } from './saved-run.js';

/** One column holds the patch, by the set. */
const PATCH_COLUMNS = ['model_patch', 'generated_patch', 'patch'] as const;
const LABEL_COLUMNS = ['resolved', 'target', 'reward'] as const;
/** Also tell how a patch fared; `gen_tests_correct` and the next are of tests that were judged with the gold patch. */
const REPORT_COLUMNS = ['gen_tests_correct', 'pred_passes_gen_tests'] as const;
/** Facts of the row that a candidate does not need: its repository, the tools offered to the agent. */
const DISPENSABLE_COLUMNS = ['repo', 'license', 'dataset', 'tools'] as const;

/** JSON values in a string, as in an upload's record. */
const MOST_VALUES = 1_000_000;

function unpackedJson(value: unknown): unknown {
  return typeof value === 'string' ? (asSmallJson(value, MOST_VALUES) ?? value) : value;
}

const Tested = z.preprocess(unpackedJson, Row.nullish());
const MaybeId = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((id) => id?.toString() ?? null);
const TrajectoryRow = z.object({
  instance_id: z.string().min(1),
  trajectory_id: MaybeId,
  traj_id: MaybeId,
  candidate_id: MaybeId,
  run_id: MaybeId,
  model: MaybeText,
  model_name: MaybeText,
  model_name_or_path: MaybeText,
  model_patch: MaybeText,
  generated_patch: MaybeText,
  patch: MaybeText,
  exit_status: MaybeText,
  test_result: Tested,
});
type TrajectoryRow = z.infer<typeof TrajectoryRow>;

const Call = z.object({ name: MaybeText, arguments: z.unknown() });
const ToolCall = z.object({ id: MaybeText.catch(null), function: Call });
const Message = z.object({
  role: z.string(),
  content: Text,
  /** In place of `content` in nebius' runs of SWE-agent. */
  text: MaybeText.catch(null),
  tool_call_id: MaybeText.catch(null),
  tool_calls: z.preprocess(unpackedJson, listOf(ToolCall).nullish()).catch(null),
});
type Message = z.infer<typeof Message>;
const Chat = z.object({ chat: z.preprocess(unpackedJson, listOf(Message)) });

/**
 * Published sets of trajectories, a chat in each row: nebius' SWE-rebench-openhands-trajectories and
 * SWE-agent-trajectories, nvidia's SWE-Zero and SWE-Hero, SWE-Gym's OpenHands-Sampled-Trajectories,
 * SWE-smith-trajectories, and others with such columns.
 */
export const trajectoryRows: RunReader = {
  format: 'trajectory-rows',
  recognises: (value) => 'instance_id' in value && hasPatchColumn(value) && isChat(chatIn(value)),
  columns: () => [
    ...Object.keys(TrajectoryRow.shape),
    ...['trajectory', 'messages', ...LABEL_COLUMNS, ...REPORT_COLUMNS, 'eval_logs', ...DISPENSABLE_COLUMNS],
  ],
  read: readTrajectoryRow,
};

function hasPatchColumn(value: Row): boolean {
  const tested = Tested.safeParse(value.test_result).data ?? {};
  return PATCH_COLUMNS.some((column) => column in value) || 'git_patch' in tested;
}

function chatIn(value: Row): unknown {
  return value.trajectory ?? value.messages;
}

/** A list of messages with roles, or such a list as JSON in a string, of which only the beginning is looked at. */
function isChat(value: unknown): boolean {
  if (typeof value === 'string') return /^\s*\[\s*\{/.test(value) && value.includes('"role"');
  return Array.isArray(value) && z.object({ role: z.string() }).safeParse(value[0]).success;
}

function readTrajectoryRow(record: SavedRecord): ReadRuns {
  const fields = fieldsOf(TrajectoryRow, record);
  const { instance_id } = fields;
  const { chat: messages } = fieldsOf(Chat, { ...record, value: { chat: chatIn(record.value) } });
  const model = fields.model ?? fields.model_name ?? fields.model_name_or_path;
  const id = fields.trajectory_id ?? fields.traj_id ?? fields.candidate_id ?? fields.run_id;
  const candidate_id = idOf(id, model);
  const exit_reason = fields.exit_status ?? (endsItself(messages) ? 'finished' : null);
  const run = {
    instance_id,
    candidate_id,
    problem_statement: statementIn(messages),
    image: null,
    patch: patchOf(fields),
    trajectory: { steps: stepsIn(messages), exit_reason },
    origin: originOf('trajectory-rows', record, { id, model, exit_reason }),
  };
  const sealed = sealedOf(record.value);
  return { runs: [run], sealed: sealed === null ? [] : [{ instance_id, candidate_id, ...sealed }] };
}

function patchOf({ test_result, ...fields }: TrajectoryRow): string {
  const tested = MaybeText.safeParse(test_result?.git_patch).data;
  return fields.model_patch ?? fields.generated_patch ?? fields.patch ?? tested ?? '';
}

/** OpenHands then writes that the patch does not resolve the issue. */
const EVALUATION_FAILED = { resolved: null, reason: 'the evaluation itself failed (error_eval)' };

/** Null if the row says nothing about the outcome. */
function sealedOf(value: Row): Pick<Sealed, 'resolved' | 'reason' | 'sealed'> | null {
  const tested = Tested.safeParse(value.test_result).data ?? {};
  const others = REPORT_COLUMNS.map((column) => [column, value[column]] as const);
  const told = [...Object.entries(tested), ...others].filter(([name, each]) => name !== 'git_patch' && hasValue(each));
  const labels = LABEL_COLUMNS.map((column) => [column, value[column]] as const);
  const report = Row.safeParse(tested.report).data ?? {};
  const wasLost = report.error_eval === true;
  const outcome = wasLost
    ? EVALUATION_FAILED
    : outcomeStatedBy([...labels, ['test_result.report.resolved', report.resolved]]);
  const parts: Sealed['sealed'] = [
    { kind: 'report', value: told.length === 0 ? null : Object.fromEntries(told) },
    { kind: 'test-log', value: value.eval_logs },
  ];
  const sealed = parts.filter((part) => hasValue(part.value));
  if (outcome === null) return sealed.length === 0 ? null : { resolved: null, sealed };
  return { ...outcome, sealed };
}

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function isFromAgent({ role }: Message): boolean {
  return ['assistant', 'ai', 'agent', 'gpt', 'model'].includes(role.toLowerCase());
}

/** What the agent did in each of its messages; what follows a message, from a tool or as the user's, is what it saw. */
function stepsIn(messages: readonly Message[]): TrajectoryStep[] {
  const steps: TrajectoryStep[] = [];
  const byCall = new Map<string, TrajectoryStep>();
  const callsTools = messages.some(({ tool_calls }) => (tool_calls ?? []).length > 0);
  for (const message of messages) {
    if (isFromAgent(message)) {
      const step = stepOf(message, callsTools);
      steps.push(step);
      for (const { id } of message.tool_calls ?? []) if (id !== null) byCall.set(id, step);
    } else if (message.role !== 'system') {
      addObservation(byCall.get(message.tool_call_id ?? '') ?? steps.at(-1), textIn(message));
    }
  }
  return steps;
}

function addObservation(step: TrajectoryStep | undefined, seen: string): void {
  if (step !== undefined) step.observation += `${step.observation === '' ? '' : '\n'}${seen}`;
}

function stepOf(message: Message, callsTools: boolean): TrajectoryStep {
  const said = textIn(message);
  if (!callsTools) return { ...splitAction(said), observation: '' };
  return { thought: said, action: (message.tool_calls ?? []).map(callText).join('\n'), observation: '' };
}

function textIn({ content, text }: Message): string {
  return content || (text ?? '');
}

const TELLING_ARGUMENTS = ['command', 'path', 'old_str', 'new_str', 'file_text', 'code', 'thought', 'message', 'url'];

function callText({ function: { name, arguments: given } }: z.infer<typeof ToolCall>): string {
  const args = Row.safeParse(unpackedJson(given)).data;
  if (args === undefined) return `${name ?? ''} ${Text.parse(given)}`.trim();
  const told = shown(args, TELLING_ARGUMENTS);
  // A shell command begins a line, where it is recognised as one.
  if (typeof args.command === 'string' && told === `command=${args.command}`) return `${name ?? ''}\n${args.command}`;
  return `${name ?? ''} ${told || JSON.stringify(args)}`.trim();
}

const [FUNCTION, FENCE] = ['<function=', '```'];

/** A message of an agent without tool calls: its last `<function=…>`, else its last code block, is the action. */
function splitAction(said: string): Pick<TrajectoryStep, 'thought' | 'action'> {
  const call = said.lastIndexOf(FUNCTION);
  if (call !== -1) return { thought: said.slice(0, call).trim(), action: said.slice(call).trim() };
  const end = said.lastIndexOf(FENCE);
  const start = end <= 0 ? -1 : said.lastIndexOf(FENCE, end - 1);
  if (start === -1) return { thought: said, action: '' };
  const block = said.slice(start + FENCE.length, end);
  const thought = [said.slice(0, start), said.slice(end + FENCE.length)].map((part) => part.trim()).filter(Boolean);
  return { thought: thought.join('\n'), action: block.slice(block.indexOf('\n') + 1).trim() };
}

/** Whether the agent's last message calls the tool with which OpenHands and SWE-agent end a run. */
function endsItself(messages: readonly Message[]): boolean {
  const calls = messages.findLast(isFromAgent)?.tool_calls ?? [];
  return calls.some((call) => call.function.name === 'finish' || call.function.name === 'submit');
}

/** Marks around the issue in the first message to the agent, by the agents' prompts. */
const STATEMENT_MARKS: readonly (readonly [string, string])[] = [
  ['<issue_description>', '</issue_description>'],
  ['<pr_description>', '</pr_description>'],
  ['\nISSUE:\n', '\nINSTRUCTIONS:'],
];

function statementIn(messages: readonly Message[]): string | null {
  const first = messages.find(({ role }) => role === 'user');
  const said = first === undefined ? '' : textIn(first);
  for (const [open, close] of STATEMENT_MARKS) {
    const start = said.indexOf(open);
    const end = said.indexOf(close, start + open.length);
    const text = start === -1 || end === -1 ? '' : said.slice(start + open.length, end).trim();
    if (text !== '') return text;
  }
  return null;
}
