// What the simulated model does in a rollout of the benchmark: as real ones, it mostly looks and runs, and edits a little.
const tags = (name, parameters) =>
  `<function=${name}>\n${Object.entries(parameters)
    .map(([key, value]) => `<parameter=${key}>${value}</parameter>\n`)
    .join('')}</function>`;
const FILE = '/testbed/intervals/slots.py';

/** One step: what the agent writes, and the bare command that does the same work. */
function step(n) {
  if (n % 5 === 1) return { call: tags('file_editor', { command: 'view', path: FILE }), bare: `cat ${FILE}` };
  if (n % 5 === 3) {
    const path = `/testbed/notes_${n}.md`;
    return {
      call: tags('file_editor', { command: 'create', path, file_text: `note ${n}\n` }),
      bare: `test ! -e ${path} && echo "note ${n}" >${path}`,
    };
  }
  const command =
    n % 10 === 9
      ? 'python3 -m pytest -q tests/test_slots.py'
      : `python3 -c "import intervals; print(${n})"; git status --short`;
  return { call: tags('execute_bash', { command }), bare: command };
}

export function steps(count) {
  return Array.from({ length: count }, (_, n) => step(n));
}

export const SUBMIT = tags('finish', { command: 'submit' });
