import { contentKey } from '../../core/identifier.js';
import { neutralise } from '../../core/hostile-text.js';
import type { Completion, Message, Tokenizer } from '../../ports/llm-client.js';
import type { BaseFacts } from '../../core/run/rollout.js';
import type { PromptLibrary } from '../../ports/prompt-library.js';
import { type ActionFormat, systemPrompt } from '../call-formats/action-format.js';
import type { Role } from '../tools/action.js';
import { clipChars } from '../tools/tool-outcome.js';
import { toolManual, toolSpecs } from '../tools/tool-specs.js';
import type { AgentSettings, RolloutTask } from './rollout-task.js';

const CONDENSED = '[This observation was taken out to save room.]';
/** Longer answers are clipped: nothing that long was written to be read. */
const LONGEST_ANSWER = 200_000;
/** Tokens per message in addition to its text. */
const TOKENS_OF_FRAME = 8;

interface Exchange {
  readonly answered: Message;
  observed: Message;
  /** Estimated tokens of both messages; null until needed. */
  tokens: number | null;
}

/** What the model sees: the prompt, then its answers, each with an observation. */
export class Conversation {
  private readonly exchanges: Exchange[] = [];
  /** The server's count of tokens before the last exchange. */
  private counted: number | null = null;

  constructor(
    private readonly prompt: readonly Message[],
    private readonly format: ActionFormat,
    private readonly tokenizer: Tokenizer,
  ) {}

  /** @param observation including the count of remaining steps */
  add(completion: Completion, observation: string): void {
    const { format } = this;
    const answered = format.answered(completion);
    this.exchanges.push({
      answered: { ...answered, content: clipChars(saidIn(answered), LONGEST_ANSWER) },
      observed: format.observed(completion, observation),
      tokens: null,
    });
    // Input tokens only: most of the model's reasoning is not sent back to it.
    const { usage, answer_usage = usage } = completion;
    this.counted = answer_usage?.input_tokens ?? null;
  }

  messages(): readonly Message[] {
    return [...this.prompt, ...this.exchanges.flatMap(({ answered, observed }) => [answered, observed])];
  }

  /** Tokens of the next prompt: from the server's last count, else estimated. */
  async tokens(): Promise<number> {
    const last = this.exchanges.at(-1);
    if (this.counted !== null && last !== undefined) {
      return this.counted + (await this.tokensOf(last));
    }
    let total = 0;
    for (const { content } of this.prompt) total += (await this.tokenizer.count(content)) + TOKENS_OF_FRAME;
    for (const exchange of this.exchanges) total += await this.tokensOf(exchange);
    return total;
  }

  /**
   * Replaces observations with a note, oldest first, never the last one, until about `limit` tokens are left: R2E-Gym's policy
   * (arXiv 2504.07164, appendix). @param limit null = nothing is replaced
   */
  async condense(limit: number | null): Promise<void> {
    if (limit === null) return;
    let excess = (await this.tokens()) - limit;
    for (const exchange of this.exchanges.slice(0, -1)) {
      if (excess <= 0) return;
      if (exchange.observed.content === CONDENSED) continue;
      excess -= await this.tokenizer.count(exchange.observed.content);
      exchange.observed = { ...exchange.observed, content: CONDENSED };
      exchange.tokens = null;
      // The server's count included the removed text.
      this.counted = null;
    }
  }

  private async tokensOf(exchange: Exchange): Promise<number> {
    const { answered, observed } = exchange;
    const { content, reasoning = '', tool_calls: called = [] } = answered;
    const calls = called.map((call) => call.name + call.arguments).join('');
    exchange.tokens ??=
      (await this.tokenizer.count(reasoning + content + calls)) +
      (await this.tokenizer.count(observed.content)) +
      2 * TOKENS_OF_FRAME;
    return exchange.tokens;
  }
}

/** Mistral rejects an assistant message that has neither text nor calls, as is left of an answer of thoughts. */
function saidIn({ content, tool_calls: calls }: Message): string {
  return content === '' && calls === undefined ? '(no answer)' : content;
}

/** The first messages of every rollout for an issue: equal for all, so that servers can cache them. */
export async function instancePrompt(
  prompts: PromptLibrary,
  format: ActionFormat,
  {
    issue,
    inspection,
    earlier,
    facts,
  }: Pick<RolloutTask, 'issue' | 'inspection' | 'earlier'> & { readonly facts?: BaseFacts | undefined },
  {
    limits,
    asked,
    prompt,
    instructions,
    command,
  }: Pick<AgentSettings, 'limits' | 'asked' | 'prompt' | 'instructions' | 'command'>,
): Promise<readonly Message[]> {
  const told = {
    issue: issue.problem_statement,
    workdir: issue.environment.workdir,
    max_steps: limits.max_steps,
    action_s: limits.action_s,
  };
  const more = async (task: readonly Message[]): Promise<readonly Message[]> => {
    const messages = instructions === undefined ? task : behind(task, [{ role: 'user', content: instructions }]);
    if (earlier === undefined) return messages;
    const { attempts, fence } = earlier;
    return behind(messages, (await prompts.render('agent/refine', { ...told, attempts, fence })).messages);
  };
  // An external program has its own prompts.
  if (command !== undefined) return more([{ role: 'user', content: issue.problem_statement }]);
  if (prompt !== undefined) return more((await prompts.render(prompt, told)).messages);
  const role = roleOf({ inspection }, { asked });
  const system = await prompts.render(systemPrompt(format, role), { manual: toolManual(toolSpecs(role)) });
  if (inspection !== undefined) return [...system.messages, { role: 'user', content: inspection.question }];
  const instance = await prompts.render(asked?.prompt ?? 'agent/instance', {
    ...told,
    ...(asked === undefined ? { facts: factsIn(facts) } : { count: asked.count }),
  });
  return more([...system.messages, ...instance.messages]);
}

const MOST_NAMED = 10;
const LONGEST_COMMAND = 400;

/** Facts about the repository in sentences; its own text is shortened and neutralised. */
function factsIn(facts: BaseFacts | undefined): readonly string[] {
  if (facts === undefined) return [];
  const { interpreters, tests } = facts;
  return [...pythonIn(interpreters), ...(tests === null ? [] : [testsBefore(tests)])];
}

function pythonIn(interpreters: readonly string[]): readonly string[] {
  const [only, ...others] = interpreters;
  if (others.length > 0) return [];
  if (only === undefined) return ['Commands find neither `python` nor `python3`.'];
  return [`Python is called \`${only}\`; there is no \`${only === 'python' ? 'python3' : 'python'}\`.`];
}

function testsBefore({ command, ran, failed }: NonNullable<BaseFacts['tests']>): string {
  const safe = (text: string): string => clipChars(neutralise(text).replaceAll('\n', ' '), LONGEST_COMMAND);
  const run = command.length > LONGEST_COMMAND ? '' : ` (\`${safe(command)}\`)`;
  const which = `the ${ran} existing tests nearest to the issue${run}`;
  if (failed.length === 0) return `Before any change, all of ${which} pass.`;
  const named = failed.slice(0, MOST_NAMED).map(safe).join(', ');
  const more = failed.length > MOST_NAMED ? ` and ${failed.length - MOST_NAMED} more` : '';
  return `Before any change, ${failed.length} of ${which} fail, with or without your work: ${named}${more}.`;
}

/** Appends to the last message: the common prefix stays the same, and servers reject two messages in a row with one role. */
function behind(messages: readonly Message[], words: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (last === undefined) return words;
  const content = [last.content, ...words.map((word) => word.content)].join('\n\n');
  return [...messages.slice(0, -1), { ...last, content }];
}

export function roleOf(
  { inspection }: { readonly inspection?: RolloutTask['inspection'] | undefined },
  { asked }: { readonly asked?: AgentSettings['asked'] | undefined },
): Role {
  if (inspection !== undefined) return 'judge';
  return asked === undefined ? 'solver' : 'author';
}

const LAST_WORDS: Readonly<Record<Role, string>> = {
  solver: 'what is in the repository is submitted.',
  judge: 'give your verdict based on what you have seen.',
  author: 'the scripts are submitted as they are.',
};

/** The line after each observation. @param remaining steps left of the number the model was told */
export function stepsLeft(remaining: number, role: Role): string {
  if (remaining > 0) return `Steps Remaining: ${remaining}`;
  return `You have used all your steps. Finish NOW; ${LAST_WORDS[role]}`;
}

/**
 * An observation for an agent that judges: fenced by marks that it cannot contain, as in the prompts of judges.
 * @param step from 1; the judge cites steps by this number
 */
export function fenced(observation: string, step: number): string {
  const safe = neutralise(observation);
  const fence = contentKey([observation]).slice(0, 16);
  return `=== OUTPUT ${step} ${fence} ===\n${safe}\n=== END OUTPUT ${step} ${fence} ===`;
}
