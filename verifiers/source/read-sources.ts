import { retried } from '../../src/core/async/retry.js';
import { UnavailableError } from '../../src/core/errors/errors.js';
import { contentKey } from '../../src/core/fingerprint.js';
import type { Issue } from '../../src/core/run/issue.js';
import type { ResultStore } from '../../src/ports/result-store.js';
import { type Sandbox, sandboxContent } from '../../src/ports/sandbox.js';
import { sourceAround } from './around-change.js';
import { BaseRepository } from './base-repository.js';

/** Raise this when other source is chosen: what is stored is then stale. */
const PROTOCOL = 3;

/** Source around what each patch changes, by patch; nothing where there is no image to read it from. */
export type ReadSources = (
  issue: Issue,
  patches: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, string>>;

/**
 * Reads what is not stored yet, all in one container. Without an engine or an image nothing is read: judging alone needs
 * neither.
 * @throws UnavailableError when the image is there and could not be read all the same
 */
export function createSourceReader({ sandbox, results }: { sandbox: Sandbox; results: ResultStore }): ReadSources {
  return async (issue, patches, signal) => {
    const image = await imageId(sandbox, issue, signal);
    if (image === null) return new Map();
    const content = sandboxContent(issue.environment);
    const keyOf = (patch: string): string =>
      contentKey({ kind: 'source', protocol: PROTOCOL, image, ...content, patch });
    const found = new Map<string, string>();
    for (const patch of new Set(patches)) {
      const stored = await results.get(keyOf(patch));
      if (typeof stored === 'string') found.set(patch, stored);
    }
    const missing = [...new Set(patches)].filter((patch) => !found.has(patch));
    if (missing.length === 0) return found;
    for (const [patch, text] of await retried(() => read(sandbox, issue, missing, signal), { signal })) {
      await results.put(keyOf(patch), 'source', text);
      found.set(patch, text);
    }
    return found;
  };
}

async function imageId(sandbox: Sandbox, { environment }: Issue, signal: AbortSignal): Promise<string | null> {
  try {
    return (await sandbox.describeImage(environment.image, signal)).id;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return null;
  }
}

async function read(
  sandbox: Sandbox,
  issue: Issue,
  patches: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> {
  await using base = await BaseRepository.open(sandbox, issue, `judge ${issue.instance_id}`, signal);
  const read: (readonly [string, string])[] = [];
  for (const patch of patches) read.push([patch, await sourceAround(base, patch, signal)]);
  return read;
}
