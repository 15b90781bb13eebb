import { z } from 'zod';

/** An agent's task: to resolve an issue, to judge a patch, or to write tests. */
export type Role = 'solver' | 'judge' | 'author';

/** Text formats pass every value as text, also one that is absent. */
const unlessBlank = (value: unknown): unknown =>
  typeof value === 'string' && /^(null|none)?$/i.test(value.trim()) ? null : value;

const orAbsent = <T extends z.ZodType>(schema: T) => z.preprocess(unlessBlank, schema.nullish()).optional();

const Whole = z.union([
  z.int(),
  z
    .string()
    .trim()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number),
]);
const Flag = z.union([z.boolean(), z.string().transform((text) => /^\s*(true|1|yes)\s*$/i.test(text))]);
const Range = z.preprocess(readRange, z.tuple([z.int(), z.int()], { error: 'must be [first_line, last_line]' }));

const COMMANDS = ['view', 'create', 'str_replace', 'insert', 'undo_edit'] as const;

export const Action = z.discriminatedUnion('tool', [
  z.object({ tool: z.literal('execute_bash'), command: z.string().min(1) }),
  z.object({
    tool: z.literal('search'),
    search_term: z.string().trim().min(1).max(1_000),
    path: orAbsent(z.string().trim()),
  }),
  z.object({
    tool: z.literal('file_editor'),
    command: z.string().trim().pipe(z.enum(COMMANDS)),
    path: z.string().trim().min(1).max(4_096),
    file_text: z.string().nullish(),
    old_str: z.string().nullish(),
    new_str: z.string().nullish(),
    insert_line: orAbsent(Whole),
    view_range: orAbsent(Range),
    concise: orAbsent(Flag),
  }),
  z.object({ tool: z.literal('finish'), result: orAbsent(z.string()) }),
]);
/** One step of the agent, independent of its model's call format. */
export type Action = z.infer<typeof Action>;
export type ToolName = Action['tool'];
export type FileEdit = Extract<Action, { tool: 'file_editor' }>;

/** A call as written by a model, before validation. */
export interface WrittenCall {
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Names of the same tools in other releases of these scaffolds. */
const TOOL_ALIASES: Readonly<Record<string, ToolName>> = {
  bash: 'execute_bash',
  submit: 'finish',
  str_replace_editor: 'file_editor',
  str_replace_based_edit_tool: 'file_editor',
};

/** bestk's name of a tool; null for an unknown one. */
export function knownTool(written: string): ToolName | null {
  const name = plainName(written);
  const tool = Object.hasOwn(TOOL_ALIASES, name) ? TOOL_ALIASES[name] : name;
  return isTool(tool) ? tool : null;
}

/** OpenAI's open-weight models write `functions.NAME`, sometimes followed by the name of a channel. */
function plainName(written: string): string {
  return written.replace(/^(?:functions?|tools?)\./, '').split('<|', 1)[0] ?? written;
}

/** The action of a call, or an error message that helps the model to correct it. */
export function readAction({ name: written, parameters }: WrittenCall): { action: Action } | { problem: string } {
  const name = plainName(written);
  const tool = knownTool(written);
  const given =
    tool === 'execute_bash' && !('command' in parameters) && 'cmd' in parameters
      ? { command: parameters.cmd }
      : parameters;
  if (tool === null) {
    return { problem: `There is no function "${name.slice(0, 80)}". The functions are: ${TOOLS.join(', ')}.` };
  }
  const parsed = Action.safeParse({ ...given, tool });
  if (parsed.success) return { action: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => `"${path.join('.')}" ${explain(message)}`);
  return { problem: `The call to ${tool} is invalid: ${problems.join('; ')}.` };
}

export const TOOLS: readonly ToolName[] = ['file_editor', 'execute_bash', 'search', 'finish'];

function isTool(name: string | undefined): name is ToolName {
  return TOOLS.some((tool) => tool === name);
}

function explain(message: string): string {
  return message.replace(/^Invalid input: expected (\w+), received undefined$/, 'is missing').toLowerCase();
}

/** Brackets may be missing, as in R2E-Gym. */
function readRange(value: unknown): unknown {
  const lines = typeof value === 'string' ? /^[[(]?\s*(-?\d+)[\s,]+(-?\d+)\s*[\])]?$/.exec(value.trim()) : null;
  return lines === null ? value : [Number(lines[1]), Number(lines[2])];
}

/** Tags of DeepSeek, Qwen and most others, Seed, and Mistral. */
const THOUGHTS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
] as const;
/** Chat templates may leave an empty block even where the server separates the thoughts. */
const LEADING = /^\s*<think>([^]*?)<\/think>/;

/**
 * Splits off a reasoning model's thoughts. Some servers omit the opening tag, so everything up to the last closing tag is
 * thought; after an opening tag without a closing one, all the rest is.
 * @param reasoning what the server separated; if there is any, only a block that begins the text is thought: other tags are data
 */
export function splitThought(text: string, reasoning = ''): { thought: string; answer: string } {
  if (reasoning !== '') {
    const [block = '', thought = ''] = LEADING.exec(text) ?? [];
    return { thought: thought.trim(), answer: text.slice(block.length) };
  }
  const [open, close] = THOUGHTS.find((marks) => marks.some((mark) => text.includes(mark))) ?? THOUGHTS[0];
  const closed = text.lastIndexOf(close);
  if (closed !== -1) {
    const thought = text.slice(0, closed).replace(open, '').trim();
    return { thought, answer: text.slice(closed + close.length) };
  }
  const opened = text.indexOf(open);
  if (opened === -1) return { thought: '', answer: text };
  return { thought: text.slice(opened + open.length).trim(), answer: text.slice(0, opened) };
}
