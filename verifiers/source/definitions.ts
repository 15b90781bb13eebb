/** A function, method or class of a file: lines `start` up to but excluding `end`, from 0, decorators included. */
export interface Definition {
  readonly name: string;
  /** A class, struct, trait or similar, which contains other definitions. */
  readonly isType: boolean;
  readonly start: number;
  readonly end: number;
  /** The line with its name. */
  readonly header: number;
}

const MODIFIERS =
  '(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|override|inline|unsafe|pub(?:\\([a-z]+\\))?)\\s+)*';
const NAMED = new RegExp(
  `^${MODIFIERS}(def|class|function\\*?|func|fn|impl|interface|struct|enum|trait|module|namespace|object)\\s+(?:\\([^)]*\\)\\s*)?([A-Za-z_$][\\w$]*)`,
);
const TYPES = new Set(['class', 'impl', 'interface', 'struct', 'enum', 'trait', 'module', 'namespace', 'object']);
/** `const name = (…) =>`, `name = function (…)` */
const ASSIGNED =
  /^(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=]*)?=\s*(?:async\s+)?(?:function\b|\([^)]*\)\s*(?::[^=]*)?=>|\w+\s*=>)/;
/** A method in C, Java, JavaScript and related languages: a name, parentheses, an opening brace. */
const METHOD = /^(?:[\w<>[\],.&*?:]+\s+)*([A-Za-z_$#][\w$]*)\s*\(/;
const STATEMENT = /^(?:if|for|while|switch|catch|with|return|else|do|try|using|lock|match|when|until|function)\b/;

/**
 * The definitions of a source file in any common language, found by indentation: a block ends at the next line indented no
 * deeper than its first. In a file with unusual layout some are missed or too long.
 */
export function definitionsOf(lines: readonly string[], path: string): readonly Definition[] {
  const python = path.endsWith('.py');
  const found: Definition[] = [];
  const open: { name: string; isType: boolean; start: number; header: number; indent: number }[] = [];
  const close = (indent: number, end: number): void => {
    for (let top = open.at(-1); top !== undefined && top.indent >= indent; top = open.at(-1)) {
      open.pop();
      found.push({ name: top.name, isType: top.isType, start: top.start, end, header: top.header });
    }
  };
  let lastCode = -1;
  const quoted = python ? linesInsideQuotes(lines) : new Set<number>();
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    if (text === '' || quoted.has(index)) continue;
    const indent = line.length - line.trimStart().length;
    const brace = text.startsWith('}');
    if (!/^[)\]]/.test(text) && !brace) close(indent, lastCode + 1);
    const named = nameIn(text, python);
    if (named !== null) open.push({ ...named, start: firstDecorator(lines, index, indent), header: index, indent });
    lastCode = index;
    if (brace) close(indent, index + 1);
  }
  close(0, lastCode + 1);
  return found.sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Longer lines are generated code, and slow to match. */
const LONGEST_LINE = 300;

function nameIn(text: string, python: boolean): { name: string; isType: boolean } | null {
  if (text.length > LONGEST_LINE) return null;
  const [, keyword = '', name] = NAMED.exec(text) ?? [];
  if (name !== undefined) return { name, isType: TYPES.has(keyword) };
  if (python || STATEMENT.test(text)) return null;
  const method = ASSIGNED.exec(text)?.[1] ?? methodIn(text);
  return method === undefined ? null : { name: method, isType: false };
}

/** Only a result type may come between its closing parenthesis and the brace. */
function methodIn(text: string): string | undefined {
  const opens = !text.includes(';') && /\)[^=)]*\{$/.test(text);
  return opens ? METHOD.exec(text)?.[1] : undefined;
}

function firstDecorator(lines: readonly string[], header: number, indent: number): number {
  let start = header;
  for (let above = header - 1; above >= 0; above -= 1) {
    const line = lines[above] ?? '';
    if (line.length - line.trimStart().length !== indent || !line.trimStart().startsWith('@')) break;
    start = above;
  }
  return start;
}

const QUOTES = /"""|'''/g;

/** Lines that begin inside a triple-quoted string. */
export function linesInsideQuotes(lines: readonly string[]): ReadonlySet<number> {
  const inside = new Set<number>();
  let mark: string | null = null;
  for (const [index, line] of lines.entries()) {
    if (mark !== null) inside.add(index);
    for (const [quote] of line.matchAll(QUOTES)) {
      if (mark === null) mark = quote;
      else if (mark === quote) mark = null;
    }
  }
  return inside;
}

/** The innermost definition that contains a line, or null. */
export function innermost(definitions: readonly Definition[], line: number): Definition | null {
  return definitions.filter(({ start, end }) => start <= line && line < end).at(-1) ?? null;
}

const CALL = /(?<![\w$])([A-Za-z_$][\w$]*)\s*\(/g;
/** Names called in every file; a definition with such a name in the repository is rarely the intended one. */
const COMMON = new Set(
  (
    'if for while switch catch return function def class print len range str int float bool list dict set tuple type isinstance issubclass super ' +
    'getattr setattr hasattr open repr sorted enumerate zip map filter any all min max sum abs iter next vars format join callable hash id ' +
    'append extend items keys values get pop update copy add remove split strip replace startswith endswith lower upper ' +
    'require push slice forEach concat includes toString then'
  ).split(' '),
);

/** Names called in a piece of code, in order of first appearance. */
export function calledIn(code: string): readonly string[] {
  const names = [...code.matchAll(CALL)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => name.length > 2 && !COMMON.has(name) && !/^__\w+__$/.test(name));
}
