import { contentKey } from '../../../src/core/identifier.js';
import { GeneratedTest, HOLDING, TestReportKind } from '../../../src/core/run/generated-test.js';
import type { WritersLanguage } from './chosen-files.js';

/** Characters; no handwritten script for a single check is longer. */
const LONGEST = 50_000;

interface BlockForm {
  /** Words that may follow the three backticks that begin a block. */
  readonly tags: readonly string[];
  readonly extension: string;
  /** Whether a test is a file in the repository, whose path follows the tag. */
  readonly isPlaced: boolean;
}

/** How a block in each language begins, and how its tests are named. */
const BLOCKS: Readonly<Record<WritersLanguage, BlockForm>> = {
  python: { tags: ['python', 'py'], extension: '.py', isPlaced: false },
  javascript: { tags: ['javascript', 'js', 'mjs'], extension: '.mjs', isPlaced: false },
  go: { tags: ['go', 'golang'], extension: '_test.go', isPlaced: true },
  rust: { tags: ['rust', 'rs'], extension: '.rs', isPlaced: true },
  java: { tags: ['java'], extension: '.java', isPlaced: true },
  c: { tags: ['c'], extension: '.c', isPlaced: true },
  cpp: { tags: ['cpp', 'c++', 'cc'], extension: '.cpp', isPlaced: true },
  ruby: { tags: ['ruby', 'rb'], extension: '.rb', isPlaced: true },
};

/** Whether tests of a language are files in the repository that a command runs. */
export function isPlaced(language: WritersLanguage): boolean {
  return BLOCKS[language].isPlaced;
}

const FILE = 'file';
const COMMAND = 'command';
const OPEN = /^```([^\s`]+)(?:[ \t]+([^\s`]+))?[ \t]*$/;
const CLOSE = /^```[ \t]*$/;

interface Block {
  readonly tag: string;
  /** The word after the tag; empty if there is none. */
  readonly word: string;
  readonly text: string;
}

/** The complete blocks with one of the tags in an answer, in order, without over-long ones. Linear. */
function blocksIn(answer: string, tags: readonly string[]): readonly Block[] {
  const text = answer.slice(answer.lastIndexOf('</think>') + 1);
  const blocks: Block[] = [];
  let open: { readonly tag: string; readonly word: string; readonly lines: string[] } | null = null;
  for (const line of text.split('\n')) {
    if (open === null) {
      const [, tag = '', word = ''] = OPEN.exec(line) ?? [];
      if (tags.includes(tag)) open = { tag, word, lines: [] };
    } else if (CLOSE.test(line)) {
      const { tag, word, lines } = open;
      const content = `${lines.join('\n')}\n`;
      if (content.length <= LONGEST && content.trim() !== '') blocks.push({ tag, word, text: content });
      open = null;
    } else {
      open.lines.push(line);
    }
  }
  return blocks;
}

/** A test as it is in an answer. */
type Written = Pick<GeneratedTest, 'content' | 'files' | 'command' | 'report'> & { readonly place: string };

/** The tests in an answer, one per block; if placed in the repository, preceding blocks give files and command. */
export function testsIn(answer: string, language: WritersLanguage): readonly Written[] {
  const { tags } = BLOCKS[language];
  if (!isPlaced(language)) return blocksIn(answer, tags).map(({ text }) => ({ content: text, place: '' }));
  let files: Record<string, string> = {};
  let how: Pick<Written, 'command' | 'report'> = {};
  return blocksIn(answer, [...tags, FILE, COMMAND]).flatMap(({ tag, word, text }) => {
    if (tag === FILE) {
      files[word] = text;
      return [];
    }
    if (tag === COMMAND) {
      const report = TestReportKind.safeParse(word);
      how = { command: text.trimEnd(), ...(report.success ? { report: report.data } : {}) };
      return [];
    }
    const test = { content: text, place: word, ...(Object.keys(files).length === 0 ? {} : { files }), ...how };
    [files, how] = [{}, {}];
    return [test];
  });
}

const EXPECTED = 'json';
const Values = GeneratedTest.shape.expect.unwrap();

/** The observing scripts in an answer, each with the values that its author expects, if they follow it. */
export function observingTests(
  instance_id: string,
  { author, text }: { readonly author: string; readonly text: string },
  language: WritersLanguage,
): readonly GeneratedTest[] {
  const { tags, extension } = BLOCKS[language];
  const blocks = blocksIn(text, [...tags, EXPECTED]);
  const scripts = blocks.flatMap(({ tag, text: content }, at) => {
    const behind = blocks[at + 1];
    return tag === EXPECTED ? [] : [{ content, expect: behind?.tag === EXPECTED ? valuesIn(behind.text) : null }];
  });
  return scripts.map(({ content, expect }, index) => {
    const test_id = `${author}-${index + 1}`;
    const expected = expect == null ? {} : { expect };
    return { instance_id, test_id, path: `${test_id}${extension}`, content, observes: true, ...expected, author };
  });
}

/** Null unless it is a list of values: then nothing is expected. */
function valuesIn(text: string): GeneratedTest['expect'] | null {
  try {
    return Values.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

interface Answer extends Pick<GeneratedTest, 'angle' | 'kind'> {
  readonly text: string;
}

/**
 * The scripts of several answers as tests, without duplicates (equal except for comments and blank lines).
 * @param answers by author
 */
export function asTests(
  instance_id: string,
  answers: ReadonlyMap<string, Answer>,
  language: WritersLanguage,
): readonly GeneratedTest[] {
  const seen = new Set<string>();
  return [...answers].flatMap(([author, { text, angle, kind }]) =>
    testsIn(text, language).flatMap(({ content, place, ...how }, index) => {
      const key = contentKey([withoutComments(content), how]);
      if (seen.has(key)) return [];
      seen.add(key);
      const test_id = `${author}-${index + 1}`;
      const path = place === '' ? `${nameOf(test_id, language)}${BLOCKS[language].extension}` : place;
      // Omitted otherwise, so that tests stay equal to those from before there were kinds.
      const asked = { ...(angle === undefined ? {} : { angle }), ...(kind === HOLDING ? { kind } : {}) };
      // Skips what the schema rejects, e.g. a path of two lines.
      return GeneratedTest.safeParse({ instance_id, test_id, path, content, ...how, author, ...asked }).data ?? [];
    }),
  );
}

/** If files are named after their content, some characters are not allowed in the name. */
function nameOf(test_id: string, language: WritersLanguage): string {
  return isPlaced(language) ? test_id.replace(/\W/g, '_') : test_id;
}

/** In C and Rust the excluded lines with `#` are code. */
const COMMENT = /^\s*(?:#(?!(?:include|define|if\w*|else|endif|pragma)\b|!?\[)|\/\/)/;

/** Lines of code; a trailing comment stays, since its mark could be inside a string. */
export function withoutComments(script: string): readonly string[] {
  return script
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !COMMENT.test(line));
}
