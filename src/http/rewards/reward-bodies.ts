import { z } from 'zod';
import { nextTurn } from '../../core/async/time.js';
import { contentKey } from '../../core/identifier.js';
import { asJson, isTooDeep, shapeOf, TOO_DEEP } from '../../core/json.js';
import { RunRequest } from '../../core/run/run-request.js';
import { Outcome } from '../../runs/outcomes.js';
import { MAX_VALUES, tooManyValues } from '../guard/bodies.js';
import { InvalidRequestError } from '../problem.js';

const MAX_RESPONSES = 1_024;
const ASSISTANT = 'assistant';

/** The task of a patch to judge, as passed through by frameworks: the issue, or a run request without candidates. */
export const Task = z
  .union([z.string(), z.record(z.string(), z.json())])
  .describe('An issue, or a run request without candidates, as an object or as JSON text.');
type Task = z.infer<typeof Task>;

/** slime, `--rm-type remote_rm`: one response. */
export const ResponseReward = z.looseObject({
  response: z.string().describe('The model’s response; its last diff is the patch.'),
  label: Task,
});

/** OpenRLHF, `--reward.remote_url`: many responses. */
export const QueryReward = z
  .looseObject({
    query: z.array(z.string()).max(MAX_RESPONSES).describe('Each is a prompt followed by its response.'),
    prompts: z
      .array(z.string())
      .nullish()
      .describe('The prompt that each query must begin with; a patch in it is ignored.'),
    labels: z.array(Task),
  })
  .refine(({ query, labels }) => query.length === labels.length, { path: ['labels'], message: 'one for each query' })
  .refine(({ query, prompts }) => (prompts ?? query).length === query.length, {
    path: ['prompts'],
    message: 'one for each query',
  });

/** All bodies accepted by `POST /v1/reward`. */
export const RewardRequest = z.union([ResponseReward, QueryReward, RunRequest]);

/** Rewards in the order of the request, with the outcomes they are based on. */
export const Rewards = z.object({
  rewards: z.array(Outcome.shape.reward),
  scores: z.array(Outcome.shape.reward).describe('The rewards again, under the name that OpenRLHF expects.'),
  outcomes: z.array(Outcome),
});

/** Answer of `POST /v1/reward`: a number for slime's single response, otherwise `Rewards`. */
export const RewardAnswer = z.union([z.number().min(0).max(1), Rewards]);
export type RewardAnswer = z.infer<typeof RewardAnswer>;

const ModelResponse = z.looseObject({
  output: z.array(
    z.looseObject({ type: z.string().nullish(), role: z.string().nullish(), content: z.json().optional() }),
  ),
});

/** What NeMo Gym adds to the items that a model is trained on. */
const PER_TOKEN: ReadonlySet<string> = new Set([
  'prompt_token_ids',
  'generation_token_ids',
  'generation_log_probs',
  'routed_experts',
]);

/**
 * A body without what it has for each token, which is not read.
 * @throws PayloadTooLargeException if the rest has more values than can be validated without blocking other requests
 */
export function withoutTokens(body: unknown): unknown {
  let left = MAX_VALUES;
  const copy = (value: unknown): unknown => {
    left -= 1;
    if (left < 0) throw tooManyValues(MAX_VALUES);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(copy);
    const read = Object.entries(value).filter(([name]) => !PER_TOKEN.has(name));
    return Object.fromEntries(read.map(([name, each]) => [name, copy(each)]));
  };
  return copy(body);
}

/** Body of `POST /seed_session` of a NeMo Gym resources server: a row of the data set. */
export const SeedSessionRequest = z.looseObject({});

/** Body of `POST /verify` of a NeMo Gym resources server. */
export const VerifyRequest = z.looseObject({
  responses_create_params: z.looseObject({}),
  response: ModelResponse,
  verifier_metadata: Task.describe('The task, from the row of the data set.'),
});
export type VerifyRequest = z.infer<typeof VerifyRequest>;

export const VerifyAnswer = VerifyRequest.extend({
  reward: Outcome.shape.reward,
  mask_sample: z.literal(false),
  outcome: Outcome,
});
export type VerifyAnswer = z.infer<typeof VerifyAnswer>;

/** Body of `POST /compare` of NeMo Gym's comparison servers. */
export const CompareRequest = z.looseObject({
  conversation_history: z.array(z.looseObject({})),
  response_objs: z.array(ModelResponse).min(1).max(MAX_RESPONSES),
  principle: Task.describe('The task; the only free field that NeMo Gym sends.'),
});
export type CompareRequest = z.infer<typeof CompareRequest>;

export const CompareAnswer = z.object({
  rewards: z.array(Outcome.shape.reward),
  comparison_results: z
    .array(
      z.object({
        response_i: z.int(),
        response_j: z.int(),
        score_1: Outcome.shape.reward,
        score_2: Outcome.shape.reward,
      }),
    )
    .describe('Each response compared with the next one, by index.'),
  metrics: z.record(z.string(), z.number()),
  outcomes: z.array(Outcome),
});
export type CompareAnswer = z.infer<typeof CompareAnswer>;

/** A run for the patches of one task, and the positions of those patches in the request. */
export interface RewardGroup {
  readonly request: RunRequest;
  readonly places: readonly number[];
}

/**
 * Runs for patches with their tasks: patches of equal tasks form one pool. Parses one task per turn of the event loop, so
 * that other requests are served in between.
 * @throws InvalidRequestError
 */
export async function groupsOf(
  patches: readonly { readonly task: Task; readonly patch: string; readonly at: string }[],
): Promise<readonly RewardGroup[]> {
  const pools = new Map<string, { task: Task; at: string; patches: string[]; places: number[] }>();
  for (const [place, { task, patch, at }] of patches.entries()) {
    const key = contentKey(task);
    const pool = pools.get(key) ?? { task, at, patches: [], places: [] };
    pool.patches.push(patch);
    pool.places.push(place);
    pools.set(key, pool);
  }
  const groups: RewardGroup[] = [];
  for (const { task, at, patches: own, places } of pools.values()) {
    const candidates = own.map((patch, index) => ({ candidate_id: `response-${index + 1}`, patch }));
    groups.push({ request: requestOf(task, candidates, at), places });
    await nextTurn();
  }
  return groups;
}

function requestOf(task: Task, candidates: readonly object[], at: string): RunRequest {
  const given = typeof task === 'string' ? jsonOf(task, at) : task;
  const request = RunRequest.safeParse({ ...('issue' in given ? given : { issue: given }), candidates });
  if (request.success) return request.data;
  throw new InvalidRequestError(request.error.issues.map(({ message, path }) => ({ message, path: [at, ...path] })));
}

/** Checks the shape of a task given as text, since values inside it were not counted with the body. */
function jsonOf(text: string, at: string): object {
  const refuse = (message: string): never => {
    throw new InvalidRequestError([{ path: [at], message }]);
  };
  const shape = shapeOf(Buffer.from(text));
  if (isTooDeep(shape)) refuse(TOO_DEEP);
  if (shape.values > MAX_VALUES) refuse(`has more than ${MAX_VALUES} values`);
  const value = asJson(text);
  if (typeof value === 'object' && value !== null) return value;
  return refuse('must be an issue: a JSON object, or its text');
}

/** The text of the assistant's messages in a NeMo Gym response; reasoning and outputs of tools may hold drafts of patches. */
export function textOf({ output }: z.infer<typeof ModelResponse>): string {
  const said = output.filter(
    ({ type, role }) => (type ?? 'message') === 'message' && (role ?? ASSISTANT) === ASSISTANT,
  );
  const parts = said.flatMap(({ content }) => (Array.isArray(content) ? content : [content]));
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    const { text } = (part ?? {}) as { text?: unknown };
    return typeof text === 'string' ? text : '';
  });
  return texts.join('\n');
}

/**
 * Frameworks that train on tokens send those that ended the model's turn, too, and the white space of the chat template behind
 * them. `</s>` is HTML as well: with a line break behind it, it belongs to the patch.
 */
const END_OF_TURN = /^(?:<(?:\/s|eos|pad)>|(?:<(?:[|｜][^\s|｜<>]+[|｜]|end_of_turn|seed:eos)>|\[e~\[)[ \t\r\n]*)$/;
const LONGEST_TOKEN = 64;

const DIFF_STARTS = ['diff --git ', '--- a/', '--- /dev/null'];

/**
 * The patch in a model's response: the last fenced block that contains a diff, or everything from the first line that starts
 * one, without the tokens that ended the turn; '' if there is none.
 */
export function patchIn(text: string): string {
  const said = `\n${text.slice(0, endOfTurn(text))}`;
  const [fences, diffs] = [new LineStarts(said, ['```']), new LineStarts(said, DIFF_STARTS)];
  let fenced: string | null = null;
  let rest = 1;
  for (let open = fences.from(rest); open < said.length;) {
    const start = behindLine(said, open);
    const close = fences.from(start);
    if (close === said.length) {
      rest = start;
      break;
    }
    if (diffs.from(start) < close) fenced = said.slice(start, close);
    open = fences.from(behindLine(said, close));
  }
  if (fenced !== null) return fenced;
  const start = new LineStarts(said, DIFF_STARTS).from(rest);
  let end = said.length;
  // Spaces are kept: the last line of a diff may be blank context, a single space.
  while (end > start && said[end - 1] === '\n') end -= 1;
  return start === said.length ? '' : `${said.slice(start, end)}\n`;
}

function endOfTurn(text: string): number {
  for (let end = text.length; ;) {
    const tail = text.slice(Math.max(0, end - LONGEST_TOKEN), end);
    const token = tail.slice(Math.max(tail.lastIndexOf('<'), tail.lastIndexOf('[e~[')));
    if (!END_OF_TURN.test(token)) return end;
    end -= token.length;
  }
}

function behindLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** Lines that start with one of some words; found by search, as splitting millions of lines would block other requests. */
class LineStarts {
  private readonly next: number[];

  /** @param text starts with a line break */
  constructor(
    private readonly text: string,
    private readonly words: readonly string[],
  ) {
    this.next = words.map(() => 0);
  }

  /**
   * @param at must not decrease between calls
   * @returns start of the first such line from there, or the length of the text
   */
  from(at: number): number {
    const { length } = this.text;
    for (const [index, word] of this.words.entries()) {
      if ((this.next[index] ?? length) >= at) continue;
      const found = this.text.indexOf(`\n${word}`, at - 1);
      this.next[index] = found === -1 ? length : found + 1;
    }
    return Math.min(...this.next);
  }
}
