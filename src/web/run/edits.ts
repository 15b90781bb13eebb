/** What an action does to files: an editor changes them, a command of these may. */
export type Edit = 'edit' | 'command that may edit';

const EDITOR =
  /<parameter=command>\s*(create|str_replace|insert|undo_edit)\s*<|"command"\s*:\s*"(create|str_replace|insert|undo_edit)"/;
/** What stands around a command in the formats that agents call in. */
const AROUND =
  /<\/?(?:function|parameter|tool_call|invoke)[^<>\n]{0,100}>|"(?:command|cmd|script|code)"\s{0,3}:\s{0,3}"|\\n/g;
const GIT = new Set(['apply', 'am', 'restore', 'checkout', 'revert', 'stash', 'mv', 'rm']);
const WRITES_IN_PYTHON = /\.write_text\(|\.write\(|open\([^()\n]{0,200},\s{0,3}["'\\]{1,2}[wax]/;

/** Null where nothing tells that it changes a file. Of commands of a shell only the plain ones are known. */
export function editOf(action: string): Edit | null {
  if (EDITOR.test(action)) return 'edit';
  const commands = commandsIn(action);
  const writes = commands.some(([name, ...words]) => KNOWN[name]?.(words) ?? false);
  const isPython = commands.some(([name]) => /^python[\d.]*$/.test(name));
  return writes || (isPython && WRITES_IN_PYTHON.test(action)) ? 'command that may edit' : null;
}

/** The first line of what was called, for a step that is folded. */
export function gistOf(action: string): string {
  const lines = action.replaceAll(AROUND, '\n').split('\n');
  return (lines.find((line) => /\w/.test(line)) ?? '').trim().slice(0, 160);
}

type Words = readonly string[];

const KNOWN: Readonly<Record<string, (words: Words) => boolean>> = {
  sed: (words) => words.some((word) => /^-[a-zA-Z]{0,5}i|^--in-place/.test(word)),
  perl: (words) => words.some((word) => /^-[a-z]{0,5}i/.test(word)),
  cat: redirects,
  echo: redirects,
  printf: redirects,
  tee: (words) => words.some((word) => !word.startsWith('-') && !word.startsWith('/dev/')),
  patch: () => true,
  git: ([verb = '', ...words]) => GIT.has(verb) && !words.includes('-b'),
};

/** Into a file, not into nothing or another stream. */
function redirects(words: Words): boolean {
  return words.some((word, index) => {
    const target = /^>>?([^&]*)$/.exec(word)?.[1];
    if (target === undefined) return false;
    return !(target === '' ? (words[index + 1] ?? '/dev/null') : target).startsWith('/dev/');
  });
}

/** Each command by its words, the name first. */
function commandsIn(action: string): readonly (readonly [string, ...string[]])[] {
  return action
    .replaceAll(AROUND, '\n')
    .split(/[\n;|&]/)
    .flatMap((command) => {
      const [name, ...words] = command.trim().split(/\s+/);
      return name === undefined ? [] : [[name, ...words] as const];
    });
}
