import { z } from 'zod';
import { contentKey } from '../../core/identifier.js';
import { RunRequest } from '../../core/run/run-request.js';
import { Outcome } from '../../runs/outcomes.js';
import { InvalidRequestError } from '../problem.js';

const MAX_RESPONSES = 1_024;

/** What a patch is to be judged by, as frameworks carry it along: the issue, or a run request without candidates. */
export const Task = z
  .union([z.string(), z.record(z.string(), z.json())])
  .describe('An issue, or a run request without candidates, as an object or as its JSON text.');
type Task = z.infer<typeof Task>;

/** slime, `--rm-type remote_rm`: one response. */
export const ResponseReward = z.looseObject({
  response: z.string().describe('What the model said; its last diff is the patch.'),
  label: Task,
});

/** OpenRLHF, `--reward.remote_url`: many responses. */
export const QueryReward = z
  .looseObject({
    query: z.array(z.string()).min(1).max(MAX_RESPONSES).describe('Each a prompt and its response.'),
    prompts: z.array(z.string()).nullish().describe('What each query begins with; a patch in it is not the answer.'),
    labels: z.array(Task),
  })
  .refine(({ query, labels }) => query.length === labels.length, { path: ['labels'], message: 'one for each query' });

/** Everything that `POST /v1/reward` takes. */
export const RewardRequest = z.union([ResponseReward, QueryReward, RunRequest]);

/** Rewards in the order of the request, with what they are based on. */
export const Rewards = z.object({
  rewards: z.array(Outcome.shape.reward),
  scores: z.array(Outcome.shape.reward).describe('The rewards again, under the name that OpenRLHF asks for.'),
  outcomes: z.array(Outcome),
});

/** What `POST /v1/reward` answers: a number when it was asked for one response as slime does. */
export const RewardAnswer = z.union([z.number().min(0).max(1), Rewards]);
export type RewardAnswer = z.infer<typeof RewardAnswer>;

const ModelResponse = z.looseObject({
  output: z.array(z.looseObject({ type: z.string().nullish(), content: z.json().optional() })),
});

/** NeMo Gym's `POST /verify` of a resources server. */
export const VerifyRequest = z.looseObject({
  responses_create_params: z.looseObject({}),
  response: ModelResponse,
  verifier_metadata: Task.describe('What the row of the data set says to verify by.'),
});
export type VerifyRequest = z.infer<typeof VerifyRequest>;

export const VerifyAnswer = VerifyRequest.extend({
  reward: Outcome.shape.reward,
  mask_sample: z.literal(false),
  outcome: Outcome,
});
export type VerifyAnswer = z.infer<typeof VerifyAnswer>;

/** NeMo Gym's `POST /compare` of its comparing servers. */
export const CompareRequest = z.looseObject({
  conversation_history: z.array(z.looseObject({})),
  response_objs: z.array(ModelResponse).min(1).max(MAX_RESPONSES),
  principle: Task.describe('The one free field that NeMo Gym sends along.'),
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
    .describe('Each response beside the next one, by index.'),
  metrics: z.record(z.string(), z.number()),
  outcomes: z.array(Outcome),
});
export type CompareAnswer = z.infer<typeof CompareAnswer>;

/** A run for the patches of one task, and where each of them stood in the request. */
export interface RewardGroup {
  readonly request: RunRequest;
  readonly places: readonly number[];
}

/** Runs for some patches and what each is to be judged by: patches of equal tasks are one pool. @throws InvalidRequestError */
export function groupsOf(patches: readonly { readonly task: Task; readonly patch: string; readonly at: string }[]) {
  const groups = new Map<string, { task: Task; at: string; patches: string[]; places: number[] }>();
  for (const [place, { task, patch, at }] of patches.entries()) {
    const key = contentKey(task);
    const group = groups.get(key) ?? { task, at, patches: [], places: [] };
    group.patches.push(patch);
    group.places.push(place);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ task, at, patches: own, places }): RewardGroup => {
    const candidates = own.map((patch, index) => ({ candidate_id: `response-${index + 1}`, patch }));
    return { request: requestOf(task, candidates, at), places };
  });
}

function requestOf(task: Task, candidates: readonly object[], at: string): RunRequest {
  const given = typeof task === 'string' ? jsonOf(task, at) : task;
  const request = RunRequest.safeParse({ ...('issue' in given ? given : { issue: given }), candidates });
  if (request.success) return request.data;
  throw new InvalidRequestError(request.error.issues.map(({ message, path }) => ({ message, path: [at, ...path] })));
}

function jsonOf(text: string, at: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below.
  }
  throw new InvalidRequestError([{ path: [at], message: 'must be an issue: a JSON object, or its text' }]);
}

/** What a model of NeMo Gym said: the text of its messages. */
export function textOf({ output }: z.infer<typeof ModelResponse>): string {
  const parts = output.flatMap(({ content }) => (Array.isArray(content) ? content : [content]));
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    const { text } = (part ?? {}) as { text?: unknown };
    return typeof text === 'string' ? text : '';
  });
  return texts.join('\n');
}

/**
 * The patch in what a model said: the last fenced block that holds a diff, or everything from the first line that begins
 * one; '' when there is none.
 */
export function patchIn(text: string): string {
  let fenced: string | null = null;
  let block: string[] | null = null;
  for (const line of text.split('\n')) {
    if (!line.startsWith('```')) {
      block?.push(line);
    } else if (block === null) {
      block = [];
    } else {
      if (block.some(beginsDiff)) fenced = block.join('\n');
      block = null;
    }
  }
  if (fenced !== null) return `${fenced}\n`;
  const lines = [...(block ?? text.split('\n'))];
  // Spaces stay: the last line of a diff may be blank context, a space alone.
  while (lines.at(-1) === '') lines.pop();
  const start = lines.findIndex(beginsDiff);
  return start === -1 ? '' : `${lines.slice(start).join('\n')}\n`;
}

function beginsDiff(line: string): boolean {
  return line.startsWith('diff --git ') || line.startsWith('--- a/') || line.startsWith('--- /dev/null');
}
