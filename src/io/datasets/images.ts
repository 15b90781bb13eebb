import { BadInputError } from '../../core/errors/errors.js';

/** Templates of image names: one for all repositories, others for some of them. */
export interface ImageTemplates {
  readonly all: string | null;
  readonly byRepo: ReadonlyMap<string, string>;
}

/**
 * What `--image` says, once or several times: `TEMPLATE`, or `OWNER/NAME=TEMPLATE` for one repository.
 * @throws BadInputError for two templates for the same instances, or an unknown placeholder
 */
export function imageTemplates(given: readonly string[]): ImageTemplates | undefined {
  if (given.length === 0) return undefined;
  const byRepo = new Map<string, string>();
  let all: string | null = null;
  for (const each of given) {
    const [, repo, template = each] = /^([^={}]+)=(.*)$/s.exec(each) ?? [];
    requirePlaceholders(template);
    if (repo === undefined ? all !== null : byRepo.has(repo)) {
      throw new BadInputError(`is said twice${repo === undefined ? '' : ` for ${repo}`}.`, { field: '--image' });
    }
    if (repo === undefined) all = template;
    else byRepo.set(repo, template);
  }
  return { all, byRepo };
}

function requirePlaceholders(template: string): void {
  const unknown = template.replaceAll(/\{(instance_id|repo|image_name)\}/g, '').match(/\{[^}]*\}?/)?.[0];
  if (unknown === undefined) return;
  throw new BadInputError(
    `has the unknown placeholder ${unknown}.`,
    { field: '--image' },
    'Known are {instance_id}, {repo} and {image_name}, the name that the row has.',
  );
}

interface Named {
  readonly instance_id: string;
  readonly repo: string | null;
  /** As the row, or its data set's convention, names it. */
  readonly image: string | null;
}

/** A template wins over the row: it is what the user said. Null when there is neither. */
export function imageOf({ instance_id, repo, image }: Named, templates: ImageTemplates | undefined): string | null {
  const template = (repo === null ? undefined : templates?.byRepo.get(repo)) ?? templates?.all ?? null;
  if (template === null) return image;
  const values: Readonly<Record<string, string>> = { instance_id, repo: repo ?? '', image_name: image ?? '' };
  return lowered(template.replaceAll(/\{(instance_id|repo|image_name)\}/g, (_, name: string) => values[name] ?? ''));
}

/** A repository's name may hold large letters, an image's may not; its tag may. */
function lowered(reference: string): string {
  const [last = ''] = reference.split('/').slice(-1);
  const tag = /[:@]/.exec(last);
  const end = reference.length - (tag === null ? 0 : last.length - tag.index);
  return `${reference.slice(0, end).toLowerCase()}${reference.slice(end)}`;
}
