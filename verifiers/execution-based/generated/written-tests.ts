import { contentKey } from '../../../src/core/identifier.js';
import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { TestLanguage } from '../drivers/test-dialect.js';

/** No script that anybody wrote by hand for one check is longer. */
const LONGEST = 50_000;
/** How a block of a language begins, and the name of a script of it. */
const BLOCKS: Readonly<Record<TestLanguage, { readonly open: RegExp; readonly extension: string }>> = {
  python: { open: /^```(?:python|py)[ \t]*$/, extension: '.py' },
  javascript: { open: /^```(?:javascript|js|mjs)[ \t]*$/, extension: '.mjs' },
};
const CLOSE = /^```[ \t]*$/;

/** The complete blocks of a language in an answer, in order; one that is cut off or over-long is left out. Linear. */
export function codeBlocks(answer: string, language: TestLanguage): readonly string[] {
  const { open } = BLOCKS[language];
  const text = answer.slice(answer.lastIndexOf('</think>') + 1);
  const blocks: string[] = [];
  let block: string[] | null = null;
  for (const line of text.split('\n')) {
    if (block === null) {
      if (open.test(line)) block = [];
    } else if (CLOSE.test(line)) {
      const script = `${block.join('\n')}\n`;
      if (script.length <= LONGEST && script.trim() !== '') blocks.push(script);
      block = null;
    } else {
      block.push(line);
    }
  }
  return blocks;
}

/**
 * The scripts of several answers as tests, each once: those that differ in comments and blank lines alone are the same.
 * @param answers by author
 */
export function asTests(
  instance_id: string,
  answers: ReadonlyMap<string, string>,
  language: TestLanguage,
): readonly GeneratedTest[] {
  const seen = new Set<string>();
  return [...answers].flatMap(([author, answer]) =>
    codeBlocks(answer, language).flatMap((content, index) => {
      const key = contentKey(withoutComments(content));
      if (seen.has(key)) return [];
      seen.add(key);
      const test_id = `${author}-${index + 1}`;
      return [{ instance_id, test_id, path: `${test_id}${BLOCKS[language].extension}`, content, author }];
    }),
  );
}

/** Lines that say something; a comment behind code stays, since a mark in a text looks the same. */
export function withoutComments(script: string): readonly string[] {
  return script
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !/^\s*(#|\/\/)/.test(line));
}
