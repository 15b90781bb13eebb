import { z } from 'zod';
import { argument, identifier, wholeText } from '../identifier.js';
import { Environment, type Issue } from './issue.js';

/** What JSON was parsed to: to look through it once more, level by level, takes seconds. */
const ParsedJson = z.unknown() as z.ZodType<z.infer<ReturnType<typeof z.json>>>;

const MOST_EXPECTED = 10_000;

function isShort(expected: readonly unknown[]): boolean {
  const open: unknown[] = [...expected];
  for (let count = open.length; count <= MOST_EXPECTED && open.length > 0;) {
    const next = open.pop();
    const members = typeof next === 'object' && next !== null ? (Object.values(next) as unknown[]) : [];
    count += members.length;
    if (count > MOST_EXPECTED) return false;
    open.push(...members);
  }
  return true;
}

/** How the command of a test says how it ended: a document of a test runner, or its exit: 0 = solved, 2 = not solved. */
export const TestReportKind = z.enum(['junit', 'tap', 'go-test-json', 'cargo', 'rspec-json', 'exit-code']);
export type TestReportKind = z.infer<typeof TestReportKind>;

/**
 * How much an outcome is worth. `proof`: the script itself proved that it reached its end, apart from the code under test.
 * `command`: the process that runs the code under test also reports, so that a patch may forge it.
 */
export const Trust = z.enum(['proof', 'command']);
export type Trust = z.infer<typeof Trust>;

const MOST_FILES = 50;
const path = () => argument().max(1024);

/**
 * A complete script, run from the repository's root: exit 0 = solved, 2 = not solved, anything else = the test is
 * broken. One in another language than Python and JavaScript, or with a `command`, is a file of the repository at `path`, run by a
 * command that reports. One with `expect` observes instead: it calls `observe(value)`, its exit says nothing, and what it observed is compared
 * outside the sandbox, which never holds what is expected.
 */
export const GeneratedTest = z.object({
  instance_id: identifier(512),
  test_id: identifier(256),
  /**
   * Its extension names the language. Of a script in Python or JavaScript a name to show: it is never written inside the
   * repository. Else where the file is put for the time of its run.
   */
  path: z.string().min(1).max(1024),
  content: z.string(),
  /** Further files that it needs, by their place in the repository; none that the repository has. */
  files: z
    .record(path(), z.string())
    .refine((files) => Object.keys(files).length <= MOST_FILES, `holds more than ${MOST_FILES} files`)
    .exactOptional(),
  /** Shell command, run from the repository's root, where `{files}` becomes the quoted path; absent = that of the language. */
  command: argument().max(10_000).exactOptional(),
  /** What the command reports; absent = what that of the language does, and the exit code of one that is given. */
  report: TestReportKind.exactOptional(),
  /** What each call of `observe` has to tell, in order; an exception that ends the script is `{"raises": type}`. */
  expect: z.array(ParsedJson).max(1_000).refine(isShort, `holds more than ${MOST_EXPECTED} values`).exactOptional(),
  /**
   * Whether it tells what the code does and nothing else: candidates that tell the same behave alike, and it is no part of the
   * count of solved tests. With `expect`, it is known which of them are right here.
   */
  observes: z.boolean().exactOptional(),
  author: z
    .string()
    .nullish()
    .transform((author) => author ?? null),
  /** `pass-to-pass`: holds on base, and must go on holding; absent = it says "not solved" there. */
  kind: z.enum(['fail-to-pass', 'pass-to-pass']).exactOptional(),
  /** What its author was asked to look at above all; absent = everything, or nobody knows. */
  angle: z.string().max(64).exactOptional(),
});
export type GeneratedTest = z.infer<typeof GeneratedTest>;

/** The author of tests that are to tell two patches apart, and who saw both. */
export const SEPARATING = 'separating';

/** The kind of a test that holds on base; in pools the author of all such tests, who are like existing ones. */
export const HOLDING = 'pass-to-pass';

/** The author of tests that observe, who saw candidates in later rounds. */
export const OBSERVING = 'observing';

/** How the name of a script goes on behind the id of the candidate whose agent wrote it. */
export const HARVESTED = '-own-';

/** Whether a candidate's agent wrote it, who may have had an eye on how others fare. */
export function isHarvested({ test_id, author }: GeneratedTest): boolean {
  return author !== null && test_id.startsWith(`${author}${HARVESTED}`);
}

/**
 * Whether nobody who saw a candidate's work wrote it: neither a candidate's agent, nor a judge who looked at a patch, nor who
 * was to tell two patches apart.
 * @param candidates ids
 */
export function isWrittenApart(test: GeneratedTest, candidates: ReadonlySet<string>): boolean {
  const { author } = test;
  return (
    author === null || (author !== SEPARATING && author !== OBSERVING && !candidates.has(author) && !isHarvested(test))
  );
}

/** One that came from outside. */
export const GivenTest = GeneratedTest.extend({
  content: wholeText(),
  files: GeneratedTest.shape.files.unwrap().pipe(z.record(z.string(), wholeText())).exactOptional(),
});

/** What an admitted generated test was worth on these candidates; known afterwards, without any label. */
export const TestQuality = z.object({
  test_id: z.string(),
  /** Distinct patches that solved it, of how many it ran on. */
  solved_by: z.int().min(0),
  of: z.int().min(0),
  /** Bits that its outcome tells about which patch this is, 0..1; 0 when it tells nobody apart. */
  information: z.number().min(0).max(1),
  /** Mean P(right) of those that solved it minus that of the others, −1..1; null when it tells nobody apart. */
  agreement: z.number().min(-1).max(1).nullable(),
  /** P(it passes wrong patches rather than right ones), by the latent model. */
  toxicity: z.number().min(0).max(1),
});
export type TestQuality = z.infer<typeof TestQuality>;

interface WrittenTests {
  readonly tests: readonly GeneratedTest[];
  /** Answers without any complete script. */
  readonly unreadable: number;
}

/** The author of tests in the place of those that base refused. */
export const MENDED = 'mended';

/** A test that is not admitted. */
export interface RefusedTest {
  readonly test: GeneratedTest;
  /** To be read behind "it". */
  readonly reason: string;
  /** The end of what it printed on base. */
  readonly log: string;
}

/** Two patches that the tests so far do not decide between. */
export interface TiedPatches {
  readonly patches: readonly [string, string];
  /** The tests that ran on both, with what each said of them. */
  readonly earlier: readonly { readonly test: GeneratedTest; readonly said: readonly [string, string] }[];
}

/** What comes of comparing two patches. */
export interface Separation {
  readonly tests: readonly GeneratedTest[];
  /** Whether whoever was asked says that both do the same for all that the issue is about. */
  readonly equivalent: boolean;
}

/** What was observed before a round of tests that observe. */
export interface ObservedBefore {
  /** From 0; in the first one the author sees no patch. */
  readonly round: number;
  /** Different patches that behave alike so far; none in the first round. */
  readonly alike: readonly string[];
  /** Earlier tests, what each class of candidates told there, base's first, and which of these values those alike did. */
  readonly earlier: readonly {
    readonly test: GeneratedTest;
    readonly values: readonly string[];
    readonly alike: number | null;
  }[];
}

/** Has tests written for an issue. */
export interface TestWriter {
  /**
   * From the issue's text and the source at base alone: no candidate is shown to the author.
   * @throws the model's failure when it gave no answer at all, and what the sandbox throws
   */
  write(issue: Issue, signal: AbortSignal): Promise<WrittenTests>;
  /**
   * Tests in the place of those that were refused on base; none when nothing can be mended.
   * @throws the model's failure, and what the sandbox throws
   */
  mend(issue: Issue, refused: readonly RefusedTest[], signal: AbortSignal): Promise<readonly GeneratedTest[]>;
  /**
   * Tests that may tell two patches apart.
   * @throws the model's failure, and what the sandbox throws
   */
  separate(issue: Issue, tied: TiedPatches, signal: AbortSignal): Promise<Separation>;
  /**
   * Tests that observe, for inputs on which patches may differ; absent = nobody is asked.
   * @throws the model's failure, and what the sandbox throws
   */
  observe?(issue: Issue, before: ObservedBefore, signal: AbortSignal): Promise<readonly GeneratedTest[]>;
  /** Of existing tests that pass on base those that a right solution has to break; none when nobody knows. */
  exclude(issue: Issue, tests: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
}

/** What one execution said. The last five say nothing about the patch being right and are told apart in reports. */
export const CellOutcome = z.enum([
  'solved',
  'not-solved',
  /** It told what the code does; nobody says what is right. */
  'observed',
  /** The script ended in another way than its protocol allows, or its proof (the nonce) is missing. */
  'crashed',
  'timed-out',
  'out-of-memory',
  'out-of-disk',
  /** The patch has tests pass whatever they say: a control that no code can pass did. */
  'forged',
]);
export type CellOutcome = z.infer<typeof CellOutcome>;

/** What the end of a generated test says: the first two speak of the code under test, the others of the test, base or the machine. */
export const CellKind = z.enum([
  'resolved',
  'wrong-answer',
  'set-up-error',
  'missing-name',
  'time-out',
  'flaky',
  'passes-on-base',
  'out-of-memory',
  'out-of-disk',
  'forged',
]);
export type CellKind = z.infer<typeof CellKind>;

/** One line of `matrix.jsonl`: a generated test, or the regression set, on base or on one candidate. */
export const Cell = z.object({
  instance_id: z.string(),
  candidate_id: z.string().nullable().describe('null = base, the repository without any patch'),
  /** The candidate whose run this is, when it was not this one's: equal patches are executed once. */
  same_as: z.string().nullable(),
  suite: z.enum(['reproduction', 'regression']),
  test_id: z.string(),
  outcome: CellOutcome,
  /** Generated tests only, both; absent in runs before there were kinds. */
  kind: CellKind.exactOptional(),
  trust: Trust.exactOptional(),
  exit_code: z.int().nullable(),
  duration_ms: z.number().min(0),
  /** Regression only: stable base passes that passed here, of how many, and which did not. */
  passed: z.int().nullable(),
  total: z.int().nullable(),
  lost: z.array(z.string()),
  /** End of the output, at most 4,000 characters, for people to read. */
  log_tail: z.string(),
  /** What a test observed: its hash, and how it begins. */
  observed: z
    .object({
      sha256: z.string(),
      preview: z.string(),
      /** Of tests that observe alone, equal for equal values: 0 as base, then the most common first. */
      group: z.int().min(0).exactOptional(),
    })
    .exactOptional(),
});
export type Cell = z.infer<typeof Cell>;

/** A batch of cells: tests, or the regression command, on one tree. Its results are stored by what they depend on. */
export const CellJob = z.object({
  instance_id: z.string(),
  environment: Environment,
  /** Source patch on top of base; null = base itself. */
  tree: z.string().nullable(),
  /** Which of the equal runs on the tree this is. */
  repeat: z.int().min(0),
  /** Null = the regression command. */
  tests: z.array(GeneratedTest).nullable(),
});
export type CellJob = z.infer<typeof CellJob>;

/** Has a job done where there is room for it; what is not stored afterwards is to be executed here. @throws what ended it */
export type RemoteExecutor = (job: CellJob, signal: AbortSignal) => Promise<void>;
