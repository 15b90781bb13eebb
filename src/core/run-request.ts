import { z } from 'zod';
import { Candidate } from './candidate.js';
import { GeneratedTest } from './generated-test.js';
import { Issue } from './issue.js';

const MAX_CANDIDATES = 1_024;
const MAX_TESTS = 1_024;
const NO_SAMPLING = 'sampling candidates is not available in this version; give them as `candidates`';

const optionalId = Issue.shape.instance_id.optional();
const GivenCandidate = Candidate.extend({ instance_id: optionalId });
const GivenTest = GeneratedTest.extend({ instance_id: optionalId });

const Verifiers = z
  .array(z.enum(['ef', 'eb']))
  .min(1)
  .transform((names) => [...new Set(names)]);

const GivenRequest = z.strictObject({
  issue: Issue,
  /** How many candidates there are; only a check, the candidates say it themselves. Null = not said. */
  k: z
    .int()
    .min(1)
    .max(MAX_CANDIDATES)
    .nullish()
    .transform((k) => k ?? null),
  candidates: z
    .array(GivenCandidate, { error: ({ input }) => (input === undefined ? NO_SAMPLING : undefined) })
    .min(1)
    .max(MAX_CANDIDATES),
  /** Saved generated tests to use instead of writing new ones; null = write new ones. */
  tests: z
    .array(GivenTest)
    .max(MAX_TESTS)
    .nullish()
    .transform((tests) => tests ?? null),
  /** Null = the service's default: execution-based, and execution-free where a verifier model is configured. */
  verifiers: Verifiers.nullish().transform((names) => names ?? null),
  preset: z.string().min(1).max(256).default('deepswe'),
});
type GivenRequest = z.infer<typeof GivenRequest>;

/**
 * What a run is asked to do. Ids are unique, and every candidate and test belongs to the issue; those that do not name
 * an instance get the issue's. Reading a read request gives it back unchanged.
 */
export const RunRequest = GivenRequest.check(({ value, issues }) => {
  for (const { path, message } of contradictions(value)) issues.push({ code: 'custom', input: value, path, message });
}).transform(({ candidates, tests, ...request }) => ({
  ...request,
  candidates: candidates.map((candidate) => ({ ...candidate, instance_id: request.issue.instance_id })),
  tests: tests === null ? null : tests.map((test) => ({ ...test, instance_id: request.issue.instance_id })),
}));
export type RunRequest = z.infer<typeof RunRequest>;

interface Contradiction {
  readonly path: (string | number)[];
  readonly message: string;
}

function contradictions({ issue, k, candidates, tests }: GivenRequest): Contradiction[] {
  const found = [
    ...strangers('candidates', candidates, issue.instance_id),
    ...strangers('tests', tests ?? [], issue.instance_id),
    ...repeated(
      'candidates',
      'candidate_id',
      candidates.map(({ candidate_id }) => candidate_id),
    ),
    ...repeated(
      'tests',
      'test_id',
      (tests ?? []).map(({ test_id }) => test_id),
    ),
  ];
  if (k !== null && k !== candidates.length) {
    found.push({ path: ['k'], message: `says ${k}, but ${candidates.length} candidates are given` });
  }
  return found;
}

function strangers(list: string, items: readonly { instance_id?: string | undefined }[], id: string): Contradiction[] {
  return items.flatMap(({ instance_id }, index) =>
    instance_id === undefined || instance_id === id
      ? []
      : [{ path: [list, index, 'instance_id'], message: "must be the issue's instance_id, or absent" }],
  );
}

function repeated(list: string, field: string, ids: readonly string[]): Contradiction[] {
  const seen = new Set<string>();
  return ids.flatMap((id, index) => {
    if (seen.has(id)) return [{ path: [list, index, field], message: 'is used twice' }];
    seen.add(id);
    return [];
  });
}
