import { useState } from 'preact/hooks';
import { count } from '../format.js';
import { changedSpans, type DiffFile, type DiffHunk, type DiffLine, type Pair, sideBySide } from './diff-model.js';
import { highlight, marked } from './highlight.js';

/** Lines of a file shown at first, and with every further click. */
const FIRST_LINES = 400;
const MORE_LINES = 2_000;

interface Props {
  readonly file: DiffFile;
  readonly role: string;
  readonly isOpen: boolean;
  readonly isWide: boolean;
}

export function FileDiff({ file, role, isOpen, isWide }: Props) {
  const [most, setMost] = useState(FIRST_LINES);
  const total = file.hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  return (
    <details class="file" open={isOpen}>
      <summary>
        <code>{file.name}</code>
        {role !== 'source' && <span class="tag tag-warn">{role} file: set apart</span>}
        {file.notes.map((note) => (
          <span key={note} class="tag">
            {note}
          </span>
        ))}
      </summary>
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
    </details>
  );
}

/** The widths: the first row, a hunk's header, is one cell. */
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
        : sideBySide(hunk.lines).length > 0 && <UnifiedRows lines={hunk.lines} file={file} />}
    </>
  );
}

const WORDS = { '+': 'added', '-': 'removed', ' ': '' } as const;
const SIGNS = { '+': '+', '-': '−', ' ': ' ' } as const;

/** What a line was and what it became, beside each other. */
export function PairRow({ pair: [left, right], file }: { readonly pair: Pair; readonly file: string }) {
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
export function UnifiedRows({ lines, file }: { readonly lines: readonly DiffLine[]; readonly file: string }) {
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
