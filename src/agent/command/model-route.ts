import { z } from 'zod';
import { BudgetSpentError, ContextTooLongError } from '../../core/errors/unavailable.js';
import { contentKey } from '../../core/identifier.js';
import { asSmallJson } from '../../core/json.js';
import type { RolloutStep } from '../../core/run/rollout.js';
import type { Completion, CompletionRequest } from '../../ports/llm-client.js';
import { inTags } from '../call-formats/action-format.js';
import { parseObject } from '../call-formats/lenient-json.js';
import type { ExitReason, RolloutParts } from '../loop/rollout-task.js';
import { clipChars } from '../tools/tool-outcome.js';
import type { Workspace } from '../tools/workspace.js';
import { askedIn, type ChatRequest, chatAnswer, json, readChat, refusal, type RouteAnswer } from './chat-requests.js';
import { secondsOf } from '../../core/async/time.js';

/**
 * Maximum repeats of a request per rollout: equal requests of a program are separate samples, as are those of different
 * rollouts.
 */
const REPEATS = 1_000;
const LONGEST_GIST = 300;
/** Kept of what a step came to, in characters. */
const LONGEST_OBSERVATION = 100_000;
/** Requests of one program that are answered at the same time: each is held whole. */
const MOST_AT_ONCE = 32;
/** With more on their way, refusals included, none is read. */
export const MOST_OPEN = 128;

const Line = z.union([
  z.object({ id: z.int(), method: z.string(), path: z.string(), body: z.string() }),
  z.object({ ended: z.enum(['own', 'late', 'stopped']), code: z.int(), tail: z.string() }),
]);
type Asked = Extract<z.infer<typeof Line>, { id: number }>;
export type Ended = Extract<z.infer<typeof Line>, { ended: string }>;

interface RoutePlace {
  readonly workspace: Workspace;
  /** Folder for the answers. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** The program's access to the model, and to nothing else, through the run's own clients with budget, store and recording. */
export class ModelRoute {
  readonly steps: RolloutStep[] = [];
  ended: Ended | null = null;
  /** Why the program was stopped; null when it was not. */
  reason: ExitReason | null = null;
  private readonly seen = new Map<string, number>();
  private readonly underWay = new Set<Promise<void>>();
  /** The error that prevented a model's answer; null if there is none. */
  failure: unknown = null;
  private asked = 0;
  /** When the program got its last answer, by `performance.now()`. */
  answeredAt: number | null = null;

  constructor(
    private readonly parts: RolloutParts,
    private readonly place: RoutePlace,
  ) {}

  /** Handles a line from the container; untrusted, since any process in there may have written it. */
  async take(line: string): Promise<void> {
    const parsed = Line.safeParse(asSmallJson(line, MOST_OF_LINE));
    if (!parsed.success) return;
    if (!('id' in parsed.data)) {
      this.ended ??= parsed.data;
      return;
    }
    // Of so many none is honest: each answer is a call of the engine's.
    if (this.underWay.size >= MOST_OPEN) return;
    const asked = parsed.data;
    const work = this.answer(asked).then((answer) => this.put(String(asked.id), JSON.stringify(answer)));
    this.underWay.add(work);
    await work.finally(() => this.underWay.delete(work));
  }

  async stop(reason: ExitReason): Promise<void> {
    if (this.reason !== null) return;
    this.reason = reason;
    await this.put('stop', reason);
  }

  /** Waits for pending answers after the program has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  private put(name: string, text: string): Promise<void> {
    const { workspace, folder, signal } = this.place;
    return workspace.write([{ path: `${folder}/${name}`, content: `${Buffer.byteLength(text)}\n${text}` }], signal);
  }

  private async answer({ method, path, body }: Asked): Promise<RouteAnswer> {
    const { model } = this.parts.tools.settings;
    const [route = ''] = path.split('?', 1);
    if (method === 'GET' && route.endsWith('/models')) {
      return json({ object: 'list', data: [{ id: model, object: 'model', created: 0, owned_by: 'bestk' }] });
    }
    if (method !== 'POST' || !route.endsWith('/chat/completions')) {
      return refusal(
        404,
        'not_found',
        `there is no ${method} ${route}; POST /v1/chat/completions and GET /v1/models are there`,
      );
    }
    if (this.underWay.size >= MOST_AT_ONCE) return refusal(429, 'rate_limit_exceeded', 'too many requests at once');
    const request = readChat(body);
    return 'status' in request ? request : this.complete(request);
  }

  private async complete(request: ChatRequest): Promise<RouteAnswer> {
    const { limits } = this.parts.tools.settings;
    if (this.reason !== null || this.asked >= limits.max_steps_absolute) {
      await this.stop('abs_step_limit');
      return refusal(429, 'insufficient_quota', 'the limit of this agent is reached');
    }
    this.asked += 1;
    const asked = this.requestOf(request);
    this.observe(asked);
    const start = performance.now();
    try {
      const completion = await this.parts.tools.llm.complete(asked, this.place.signal);
      await this.tell(completion, start);
      return chatAnswer(request, completion, contentKey(asked).slice(0, 24));
    } catch (error) {
      if (error instanceof ContextTooLongError) return refusal(400, 'context_length_exceeded', error.message);
      if (!(error instanceof BudgetSpentError)) {
        this.failure ??= error;
        throw error;
      }
      await this.stop('budget_limit');
      return refusal(429, 'insufficient_quota', error.message);
    }
  }

  /** Always asks the agent's configured model, whatever model the program names. */
  private requestOf(request: ChatRequest): CompletionRequest {
    const { task, tools } = this.parts;
    const { model, temperature, topP, limits } = tools.settings;
    const most = request.max_completion_tokens ?? request.max_tokens;
    const asked = {
      model,
      temperature: request.temperature ?? temperature,
      ...(topP === undefined ? {} : { topP }),
      ...askedIn(request),
      maxTokens: Math.min(most ?? Infinity, limits.max_answer_tokens),
    };
    const key = contentKey(asked);
    const nth = this.seen.get(key) ?? 0;
    this.seen.set(key, nth + 1);
    return { ...asked, mayBeShorter: most == null, sample: task.sample * REPEATS + nth, purpose: 'agent' };
  }

  /** The messages after the last answer are the observation of the previous step. */
  private observe({ messages }: CompletionRequest): void {
    const last = this.steps.at(-1);
    const from = messages.findLastIndex(({ role }) => role === 'assistant');
    if (last === undefined || from === -1) return;
    const said = messages.slice(from + 1).map(({ content }) => content);
    const observation = clipChars(said.join('\n\n'), LONGEST_OBSERVATION);
    const env_s = secondsOf(performance.now() - (this.answeredAt ?? performance.now()));
    this.steps[this.steps.length - 1] = { ...last, observation, env_s };
  }

  private async tell(completion: Completion, start: number): Promise<void> {
    const { task } = this.parts;
    const { text, reasoning, tool_calls: calls, usage } = completion;
    this.answeredAt = performance.now();
    const written = calls.map(({ name, arguments: given }) =>
      inTags({ name, parameters: parseObject(given) ?? { given } }),
    );
    const step: RolloutStep = {
      thought: [reasoning, text].filter((part) => part !== '').join('\n\n'),
      action: written.join('\n'),
      observation: '',
      exit_code: null,
      input_tokens: usage?.input_tokens ?? null,
      cached_input_tokens: usage?.cached_input_tokens ?? null,
      output_tokens: usage?.output_tokens ?? null,
      llm_s: secondsOf(this.answeredAt - start),
      env_s: 0,
    };
    this.steps.push(step);
    const gist = (written.join(' ') || text).replaceAll(/\s+/g, ' ').slice(0, LONGEST_GIST);
    const about = { tool: calls[0]?.name ?? null, gist, exit_code: null, llm_s: step.llm_s, env_s: 0 };
    await task.onStep({ candidate_id: task.candidateId, step: this.steps.length, ...about });
  }
}

/** Values in a line. */
const MOST_OF_LINE = 10;
/** In bytes; the forwarder refuses what would be longer, so that only other processes in the container write such lines. */
export const LONGEST_LINE = 8 * 1024 * 1024;
/** Behind so many nothing is read any more. */
export const MOST_LINES = 20_000;

/** Splits a byte stream into lines. */
export class Lines {
  private pieces: Buffer[] = [];
  private size = 0;
  private count = 0;

  constructor(private readonly onLine: (line: string) => void) {}

  readonly take = (piece: Uint8Array): void => {
    let rest = Buffer.from(piece);
    for (let end = rest.indexOf(10); end !== -1 && this.count < MOST_LINES; end = rest.indexOf(10)) {
      this.count += 1;
      const line = Buffer.concat([...this.pieces, rest.subarray(0, end)]);
      const whole = this.size + end <= LONGEST_LINE;
      [this.pieces, this.size, rest] = [[], 0, rest.subarray(end + 1)];
      if (whole) this.onLine(line.toString('utf8'));
    }
    this.size += rest.length;
    if (this.count < MOST_LINES && this.size <= LONGEST_LINE) this.pieces.push(rest);
  };
}
