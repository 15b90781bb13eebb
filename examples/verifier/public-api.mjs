/**
 * Patch risk: public declarations that a patch removes or whose line it changes, in Python, JavaScript, TypeScript and Go. Callers
 * outside the repository may break with them. Read from the diff alone: no model, no container.
 */
export const name = 'public-api';

const MEASURE = 'api:changed';
const MEANING = 'public declarations that the patch removes or changes';

/** A line that declares something for other code, by file extension. */
const DECLARATION = {
  py: /^\s*(?:async\s+)?(?:def|class)\s+[A-Za-z]/,
  js: /^export\s/,
  ts: /^export\s/,
  go: /^(?:func\s+(?:\([^)]*\)\s*)?|type\s+)[A-Z]/,
};
const SAME_AS = { mjs: 'js', jsx: 'js', tsx: 'ts', mts: 'ts' };
const TESTS = /(?:^|\/)(?:tests?|__tests__|spec)\/|(?:^|\/)test_|[._]test\.|\.spec\./;
const MOST_LISTED = 50;

/** @type {import('../../verifiers/index.js').MakeVerifier} */
export const create = () => ({
  name,
  measures: [{ name: MEASURE, kind: 'fact', unit: 'score', better: 'lower', title: 'API', meaning: MEANING }],
  verify: async ({ candidates }) =>
    candidates.map(({ candidate_id, patch }) => {
      if (patch.trim() === '') {
        const detail = 'the patch is empty';
        return { kind: 'abstained', candidate_id, measure: MEASURE, reason: 'no-source-change', detail, evidence: {} };
      }
      const changed = changedIn(patch);
      const evidence = { changed: changed.slice(0, MOST_LISTED) };
      return { kind: 'scored', candidate_id, measure: MEASURE, score: changed.length, out_of: 1, evidence };
    }),
});

/**
 * A declaration that moves keeps its line and is not counted.
 * @param {string} patch unified diff
 * @returns {string[]} the removed lines, each with its file
 */
function changedIn(patch) {
  const lines = patch.split('\n');
  /** @type {{ path: string, text: string }[]} */
  const removed = [];
  const added = new Set();
  let path = '';
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('--- ') && lines[index + 1]?.startsWith('+++ ')) path = line.slice(4).replace(/^a\//, '');
    else if (line.startsWith('-')) removed.push({ path, text: line.slice(1).trimEnd() });
    else if (line.startsWith('+')) added.add(line.slice(1).trimEnd());
  }
  return removed
    .filter((each) => declares(each) && !added.has(each.text))
    .map((each) => `${each.path}: ${each.text.trim()}`);
}

/** @param {{ path: string, text: string }} line */
function declares({ path, text }) {
  const extension = path.slice(path.lastIndexOf('.') + 1);
  return !TESTS.test(path) && DECLARATION[SAME_AS[extension] ?? extension]?.test(text) === true;
}
