import { fileSections, HUNK_HEADER, UnreadablePatch } from './sections.js';

/** A repair without which git would not apply a patch. */
export type Repair = 'stub-dropped' | 'context-restored' | 'crlf' | `fuzz-${number}`;

/** A text of a patch, and how it differs from the one that was supplied. */
export interface PatchForm {
  readonly text: string;
  /** In the order in which they were made; empty = the text is the supplied one. */
  readonly repairs: readonly Repair[];
}

/** Header lines that end in a carriage return: git would quote one that belonged to a name. */
const CR_HEADER = /^(?:diff --git |--- |\+\+\+ |@@ )[^\n]*\r$/m;
/** Limit of blank lines that one hunk can have lost. */
const MOST_BLANKS = 100;

/** Whether a patch was transported with CR LF line ends, headers included. */
export function hasCarriageReturnHeaders(text: string): boolean {
  return CR_HEADER.test(text);
}

/**
 * Repairs an unreadable patch as far as its text alone decides: blank context lines that a hunk lacks at its end, where
 * both of its counts say how many; the blank in front of context lines; header lines that end in CR LF. Linear.
 * @returns null if there is nothing to repair
 */
export function repairLines(text: string): PatchForm | null {
  const isCrlf = hasCarriageReturnHeaders(text);
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
  const scan = new HunkScan(isCrlf);
  for (const [index, line] of lines.entries()) {
    if (scan.isInside && isBoundary(lines, index)) scan.end();
    if (scan.isInside) scan.content(line);
    else scan.header(line);
  }
  scan.end();
  const repairs: Repair[] = [
    ...(scan.isRestored ? (['context-restored'] as const) : []),
    ...(isCrlf ? (['crlf'] as const) : []),
  ];
  return repairs.length === 0 ? null : { text: `${scan.lines.join('\n')}\n`, repairs };
}

/** Whether a line can only begin the next hunk or file. */
function isBoundary(lines: readonly string[], index: number): boolean {
  const [line = '', next = '', afterNext = ''] = lines.slice(index, index + 3);
  if (line.startsWith('diff --git ') || HUNK_HEADER.test(line)) return true;
  return line.startsWith('--- ') && next.startsWith('+++ ') && HUNK_HEADER.test(afterNext);
}

class HunkScan {
  readonly lines: string[] = [];
  isRestored = false;
  private oldLeft = 0;
  private newLeft = 0;

  constructor(private readonly isCrlf: boolean) {}

  get isInside(): boolean {
    return this.oldLeft > 0 || this.newLeft > 0;
  }

  header(line: string): void {
    this.lines.push(this.isCrlf && line.endsWith('\r') ? line.slice(0, -1) : line);
    const counts = HUNK_HEADER.exec(line);
    if (counts === null) return;
    const [, , oldLines = '1', , newLines = '1'] = counts;
    [this.oldLeft, this.newLeft] = [Number(oldLines), Number(newLines)];
  }

  content(line: string): void {
    const whole = line === '' || /^[-+ \\]/.test(line) ? line : ` ${line}`;
    this.isRestored ||= whole !== line && !(this.isCrlf && line === '\r');
    this.lines.push(whole);
    this.oldLeft -= Number(/^(?:[- ]|$)/.test(whole));
    this.newLeft -= Number(/^(?:[+ ]|$)/.test(whole));
  }

  /** Ends a hunk, which is left as it is if its counts do not agree on what it lacks. */
  end(): void {
    if (this.oldLeft === this.newLeft && this.oldLeft > 0 && this.oldLeft <= MOST_BLANKS) {
      for (; this.oldLeft > 0; this.oldLeft -= 1) this.lines.push(this.isCrlf ? ' \r' : ' ');
      this.isRestored = true;
    }
    [this.oldLeft, this.newLeft] = [0, 0];
  }
}

const STUB = /^(?:Binary files|Files) .* differ\r?$/m;

/** Whether git could take the contents of a binary file from the repository. */
export function hasFullIndex(section: string): boolean {
  return /^index [0-9a-f]{40,64}\.\.[0-9a-f]{40,64}(?:[ \r]|$)/m.test(section);
}

/**
 * Drops the sections of binary files that come without their data. A renamed, copied or re-moded file keeps its header, which git
 * can apply.
 * @param isDropped which of these sections
 */
export function withoutStubs(form: PatchForm, isDropped: (section: string) => boolean): PatchForm {
  if (!STUB.test(form.text)) return form;
  try {
    const sections = fileSections(form.text.endsWith('\n') ? form.text : `${form.text}\n`);
    const isStub = sections.map(({ text, header, hunks }) => {
      const isBinary = hunks.length === 0 && header.endsWith('Binary files differ\n');
      return isBinary && STUB.test(text) && isDropped(text);
    });
    if (!isStub.includes(true)) return form;
    const kept = sections.map(({ text }, index) => (isStub[index] === true ? stubHeader(text) : text));
    return { text: kept.join(''), repairs: ['stub-dropped', ...form.repairs] };
  } catch (error) {
    if (error instanceof UnreadablePatch) return form;
    throw error;
  }
}

function stubHeader(section: string): string {
  const header = section.slice(0, section.search(STUB));
  return /^(?:rename|copy|old mode) /m.test(header) ? header.replace(/^index [^\n]*\n/m, '') : '';
}
