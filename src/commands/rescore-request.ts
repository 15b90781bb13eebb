import type { Candidate } from '../core/run/candidate.js';
import { BadInputError } from '../core/errors/errors.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import { type Issue, repositoryOf } from '../core/run/issue.js';
import { type GivenRule, type RunRequest, runRequest } from '../core/run/run-request.js';
import { imageOf, imageTemplates } from '../io/datasets/images.js';
import type { ImportedInstance } from '../io/saved-runs/imported-folder.js';
import type { RunChecks } from '../runs/check-request.js';
import { verifierNames } from './run-options.js';

/** What of the options says how one instance is scored. */
export interface RescoreWishes {
  /** Issues by instance, instead of what the runs say. */
  readonly issues?: ReadonlyMap<string, Issue> | undefined;
  readonly image: readonly string[];
  readonly verifiers?: string | null | undefined;
  readonly rule: GivenRule;
}

/** A name for "no image": nothing that needs one is asked for. */
const NO_IMAGE = 'none';

/** Of one instance, what is scored and by which tests; null = whoever writes tests writes them. */
export interface Rescored {
  readonly candidates: readonly Candidate[];
  readonly tests: readonly GeneratedTest[] | null;
}

/**
 * What is asked for one imported instance.
 * @throws BadInputError when it has no statement, or a verifier needs what is not known
 */
export function rescoreRequest(
  wishes: RescoreWishes,
  instance: ImportedInstance,
  { candidates, tests }: Rescored,
  dependencies: Pick<RunChecks, 'defaults'>,
): RunRequest {
  const { issue, image } = issueOf(wishes, instance);
  const verifiers = chosen(wishes, image, dependencies);
  return runRequest({ issue, candidates, tests, verifiers, ...wishes.rule });
}

/** From the file of issues, or from what the runs say. @param instance its statement may be null */
function issueOf(
  { issues, image: templates }: RescoreWishes,
  { instance_id, problem_statement, environment, image: own }: ImportedInstance,
): { readonly issue: unknown; readonly image: string | null } {
  const given = issues?.get(instance_id);
  if (given !== undefined) return { issue: given, image: given.environment.image };
  if (issues !== undefined) throw new BadInputError(`${instance_id} is not among the issues.`, { field: '--issues' });
  if (problem_statement === null) {
    throw new BadInputError(`${instance_id} has no problem statement.`, {}, 'Give the issues with --issues.');
  }
  const named = { instance_id, repo: repositoryOf(instance_id), image: own };
  // The image that a foreign run names is where its agent worked; whether it is here, only the user knows.
  const image = imageOf(named, imageTemplates(templates)) ?? null;
  const known = templates.length > 0 || environment !== null ? image : null;
  return {
    issue: { instance_id, problem_statement, environment: { ...environment, image: known ?? NO_IMAGE } },
    image: known,
  };
}

/** Those asked for; else what settings and image allow. */
function chosen(
  wishes: RescoreWishes,
  image: string | null,
  dependencies: Pick<RunChecks, 'defaults'>,
): readonly string[] {
  const asked = verifierNames(wishes);
  if (asked === undefined) {
    const allowed = dependencies.defaults.filter((name) => name !== 'eb' || image !== null);
    if (allowed.length > 0) return allowed;
    throw new BadInputError('nothing can verify.', {}, 'Set BESTK_VERIFIER_MODEL, or give --image.');
  }
  if (asked.includes('eb') && image === null) {
    throw new BadInputError('the execution-based verifier needs an image.', {}, 'Give --image or --issues.');
  }
  return asked;
}
