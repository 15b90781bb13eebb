import { useState } from 'preact/hooks';
import { count } from '../format.js';
import {
  changedSpans,
  type DiffFile,
  type DiffHunk,
  type DiffLine,
  type Pair,
  sideBySide,
  highlight,
  marked,
} from './diff-model.js';

/** Lines of a file shown at first, and added with each click. */
const FIRST_LINES = 400;
const MORE_LINES = 2_000;

interface Props {
  readonly file: DiffFile;
  /** Null if the service did not list the file by this name. */
  readonly role: string | null;
  readonly isOpen: boolean;
  readonly isWide: boolean;
}

/** One file of a patch. Its rows are made when it is opened for the first time, as a patch may have thousands of them. */
export function FileDiff({ file, role, isOpen, isWide }: Props) {
  const [wasOpened, setWasOpened] = useState(isOpen);
  return (
    <details
      class="file"
      open={isOpen}
      onToggle={() => {
        setWasOpened(true);
      }}
    >
      <summary>
        <code>{file.name}</code>
        {role !== 'source' && (
          <span class="tag tag-warn">{role === null ? 'role unknown' : `${role} file: set apart`}</span>
        )}
        {file.notes.map((note) => (
          <span key={note} class="tag">
            {note}
          </span>
        ))}
      </summary>
      {wasOpened && <Changes file={file} isWide={isWide} />}
    </details>
  );
}

function Changes({ file, isWide }: Pick<Props, 'file' | 'isWide'>) {
  const [most, setMost] = useState(FIRST_LINES);
  const total = file.hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  return (
    <>
      {file.binary && <p class="quiet">A binary file: its content is not shown.</p>}
      {!file.binary && total === 0 && <p class="quiet">No line changed.</p>}
      {total > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Changes of ${file.name}`}>
          <table class={`diff ${isWide ? 'diff-wide' : 'diff-narrow'}`}>
            <Columns isWide={isWide} />
            <tbody>
              {shown(file.hunks, most).map((hunk, index) => (
                <Hunk key={index} hunk={hunk} file={file.name} isWide={isWide} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {total > most && (
        <button
          type="button"
          onClick={() => {
            setMost(most + MORE_LINES);
          }}
        >
          {count(total - most)} more lines
        </button>
      )}
    </>
  );
}

/** Sets the column widths, because the first row, a hunk's header, is a single cell. */
function Columns({ isWide }: { readonly isWide: boolean }) {
  return (
    <colgroup>
      <col class="line-number" />
      <col class={isWide ? 'half' : 'line-number'} />
      {isWide && <col class="line-number" />}
      <col />
    </colgroup>
  );
}

/** The first `most` lines of the hunks. */
function shown(hunks: readonly DiffHunk[], most: number): readonly DiffHunk[] {
  let left = most;
  return hunks.flatMap((hunk) => {
    if (left <= 0) return [];
    const lines = hunk.lines.slice(0, left);
    left -= lines.length;
    return [{ ...hunk, lines }];
  });
}

function Hunk({ hunk, file, isWide }: { readonly hunk: DiffHunk; readonly file: string; readonly isWide: boolean }) {
  return (
    <>
      <tr class="hunk">
        <td colSpan={isWide ? 4 : 3}>{hunk.header}</td>
      </tr>
      {isWide
        ? sideBySide(hunk.lines).map((pair, index) => <PairRow key={index} pair={pair} file={file} />)
        : hunk.lines.length > 0 && <UnifiedRows lines={hunk.lines} file={file} />}
    </>
  );
}

const WORDS = { '+': 'added', '-': 'removed', ' ': '' } as const;
const SIGNS = { '+': '+', '-': '−', ' ': ' ' } as const;

/** A line before and after the change, side by side. */
function PairRow({ pair: [left, right], file }: { readonly pair: Pair; readonly file: string }) {
  const [before, after] = spansOf(left, right);
  return (
    <tr>
      <Side line={left} number={left === null ? null : left.before} file={file} span={before} />
      <Side line={right} number={right === null ? null : right.after} file={file} span={after} />
    </tr>
  );
}

function spansOf(left: DiffLine | null, right: DiffLine | null): readonly [Span | null, Span | null] {
  if (left === null || right === null || left === right) return [null, null];
  return changedSpans(left.text, right.text) ?? [null, null];
}

type Span = readonly [number, number];

interface SideProps {
  readonly line: DiffLine | null;
  readonly number: number | null;
  readonly file: string;
  readonly span: Span | null;
}

function Side({ line, number, file, span }: SideProps) {
  if (line === null) {
    return (
      <>
        <td class="line-number" />
        <td class="code nothing" />
      </>
    );
  }
  return (
    <>
      <td class={`line-number ${WORDS[line.sign]}`}>{number}</td>
      <Code line={line} file={file} span={span} />
    </>
  );
}

/** Removed lines above the added ones, in one column. */
function UnifiedRows({ lines, file }: { readonly lines: readonly DiffLine[]; readonly file: string }) {
  return (
    <>
      {lines.map((line, index) => (
        <tr key={index}>
          <td class={`line-number ${WORDS[line.sign]}`}>{line.before}</td>
          <td class={`line-number ${WORDS[line.sign]}`}>{line.after}</td>
          <Code line={line} file={file} span={null} />
        </tr>
      ))}
    </>
  );
}

function Code({ line: { sign, text }, file, span }: Pick<SideProps, 'file' | 'span'> & { readonly line: DiffLine }) {
  const pieces = marked(highlight(text, file), span ?? [0, 0]);
  return (
    <td class={`code ${WORDS[sign]}`}>
      <span class="sign">
        {sign !== ' ' && <span class="hidden">{WORDS[sign]}: </span>}
        {SIGNS[sign]}
      </span>
      {pieces.map(({ text: piece, kind, changed }, index) =>
        kind === '' && !changed ? (
          piece
        ) : (
          <span key={index} class={`${kind === '' ? '' : `hl-${kind}`}${changed ? ' changed' : ''}`}>
            {piece}
          </span>
        ),
      )}
    </td>
  );
}

/** What an action does to files: an editor changes them, a command of these may. */
export type Edit = 'edit' | 'possible edit';

const EDITOR =
  /<parameter=command>\s*(create|str_replace|insert|undo_edit)\s*<|"command"\s*:\s*"(create|str_replace|insert|undo_edit)"/;
/** Syntax around a command in the call formats of agents. */
const AROUND =
  /<\/?(?:function|parameter|tool_call|invoke)[^<>\n]{0,100}>|"(?:command|cmd|script|code)"\s{0,3}:\s{0,3}"|\\n/g;
const GIT = new Set(['apply', 'am', 'restore', 'checkout', 'revert', 'stash', 'mv', 'rm']);
const WRITES_IN_PYTHON = /\.write_text\(|\.write\(|open\([^()\n]{0,200},\s{0,3}["'\\]{1,2}[wax]/;

/** Null if nothing indicates that a file is changed. Only common shell commands are recognised. */
export function editOf(action: string): Edit | null {
  if (EDITOR.test(action)) return 'edit';
  const commands = commandsIn(action);
  const writes = commands.some(([name, ...words]) => KNOWN.get(name)?.(words) ?? false);
  const isPython = commands.some(([name]) => /^python[\d.]*$/.test(name));
  return writes || (isPython && WRITES_IN_PYTHON.test(action)) ? 'possible edit' : null;
}

/** The first line of the call, for a collapsed step. */
export function gistOf(action: string): string {
  const lines = action.replaceAll(AROUND, '\n').split('\n');
  return (lines.find((line) => /\w/.test(line)) ?? '').trim().slice(0, 160);
}

type Words = readonly string[];

const KNOWN: ReadonlyMap<string, (words: Words) => boolean> = new Map(
  Object.entries({
    sed: (words) => words.some((word) => /^-[a-zA-Z]{0,5}i|^--in-place/.test(word)),
    perl: (words) => words.some((word) => /^-[a-z]{0,5}i/.test(word)),
    cat: redirects,
    echo: redirects,
    printf: redirects,
    tee: (words) => words.some((word) => !word.startsWith('-') && !word.startsWith('/dev/')),
    patch: () => true,
    git: ([verb = '', ...words]) => GIT.has(verb) && !words.includes('-b'),
  }),
);

/** Whether output goes to a file, not to /dev/null or another stream. */
function redirects(words: Words): boolean {
  return words.some((word, index) => {
    const target = /^>>?([^&]*)$/.exec(word)?.[1];
    if (target === undefined) return false;
    return !(target === '' ? (words[index + 1] ?? '/dev/null') : target).startsWith('/dev/');
  });
}

/** Each command as words, its name first. */
function commandsIn(action: string): readonly (readonly [string, ...string[]])[] {
  return action
    .replaceAll(AROUND, '\n')
    .split(/[\n;|&]/)
    .flatMap((command) => {
      const [name, ...words] = command.trim().split(/\s+/);
      return name === undefined ? [] : [[name, ...words] as const];
    });
}
