import type { Candidate } from '../core/run/candidate.js';
import { BadInputError } from '../core/errors/errors.js';
import { RunRequest } from '../core/run/run-request.js';
import { readIssue } from '../io/datasets/issues.js';
import type { ImportedInstance } from '../io/saved-runs/imported-folder.js';
import type { RunDependenciesFactory } from '../runs/run-dependencies.js';

export interface RescoreOptions {
  readonly input: readonly string[];
  readonly out: string;
  readonly labels?: readonly string[];
  readonly issues?: string;
  readonly image?: string;
  readonly verifiers?: string;
  readonly preset: string;
  readonly parallel: string;
  readonly json?: true;
}

/** What of the options says how one instance is scored; null = not said. */
export interface RescoreWishes {
  readonly issues?: string | undefined;
  readonly image?: string | null | undefined;
  readonly verifiers?: string | null | undefined;
  readonly preset: string;
}

/** A name for "no image": nothing that needs one is asked for. */
const NO_IMAGE = 'none';

/**
 * What is asked for one imported instance.
 * @throws BadInputError when it has no statement, or a verifier needs what is not known
 */
export async function rescoreRequest(
  options: RescoreWishes,
  instance: ImportedInstance,
  candidates: readonly Candidate[],
  dependencies: RunDependenciesFactory,
): Promise<RunRequest> {
  const { instance_id } = instance;
  const { issue, image } = await issueOf(options, instance);
  const verifiers = chosen(options, image, dependencies);
  const parsed = RunRequest.safeParse({ issue, candidates, verifiers, preset: options.preset });
  if (parsed.success) return parsed.data;
  const problem = parsed.error.issues[0];
  throw new BadInputError(`${instance_id}: ${problem?.message ?? 'is no valid request'}`, {
    field: problem?.path.join('.') ?? '',
  });
}

/** From the file of issues, or from what the runs say. @param instance its statement may be null */
async function issueOf(
  { issues, image: template }: RescoreWishes,
  { instance_id, problem_statement }: ImportedInstance,
): Promise<{ readonly issue: unknown; readonly image: string | null }> {
  const image = template?.replaceAll('{instance_id}', instance_id) ?? undefined;
  if (issues !== undefined) {
    const issue = await readIssue(issues, { instanceId: instance_id, image });
    return { issue, image: issue.environment.image };
  }
  if (problem_statement === null) {
    throw new BadInputError(`${instance_id} has no problem statement.`, {}, 'Give the issues with --issues.');
  }
  const environment = { image: image ?? NO_IMAGE };
  return { issue: { instance_id, problem_statement, environment }, image: image ?? null };
}

/** Those asked for; else what settings and image allow. */
function chosen(
  { verifiers }: RescoreWishes,
  image: string | null,
  dependencies: RunDependenciesFactory,
): readonly string[] {
  const names = verifiers?.split(',').map((name) => name.trim()) ?? [...dependencies.defaults];
  if (verifiers == null) {
    const allowed = names.filter((name) => name !== 'eb' || image !== null);
    if (allowed.length > 0) return allowed;
    throw new BadInputError('nothing can verify.', {}, 'Set BESTK_VERIFIER_MODEL, or give --image.');
  }
  if (names.includes('eb') && image === null) {
    throw new BadInputError('the execution-based verifier needs an image.', {}, 'Give --image or --issues.');
  }
  return names;
}
