import { printHunks, type Hunk } from './changed-runs.js';
import { type Fit, locateHunks } from './locate-hunks.js';
import { hasCarriageReturnHeaders, type PatchForm, type Repair, repairLines, withoutStubs } from './repair-patch.js';
import { type FileSection, fileSections } from './sections.js';

/** A file's text at base; null if there is none, or if it is too large or not UTF-8. */
export type BaseReader = (path: string) => Promise<string | null>;

/**
 * Repairs a readable patch that git refuses, with what the files are at base. Repairs add up, and a later form contains those
 * of the earlier ones.
 * @returns other forms in the order in which git should be asked about them
 */
export async function repairForBase(form: PatchForm, readBase: BaseReader): Promise<readonly PatchForm[]> {
  const forms: PatchForm[] = [];
  const stubless = withoutStubs(form, () => true);
  if (stubless.text === '') return forms;
  if (stubless.text !== form.text) forms.push(stubless);
  const draft = new Draft(stubless, await readFiles(stubless.text, readBase));
  const isCrlf = form.repairs.includes('crlf') || hasCarriageReturnHeaders(form.text);
  if (isCrlf) forms.push(...draft.step('crlf', repairLines(draft.text)?.text ?? draft.text));
  if (isCrlf) forms.push(...draft.edit('crlf', withFileLineEnds));
  // Restored context has to fit as it is: it was never seen.
  if (form.repairs.includes('context-restored')) forms.push(...draft.edit('context-restored', withBlanksInPlace));
  else forms.push(...draft.fuzzy());
  return forms;
}

/** By path; null = not known. */
type BaseTexts = ReadonlyMap<string, string | null>;

async function readFiles(text: string, readBase: BaseReader): Promise<BaseTexts> {
  const texts = new Map<string, string | null>();
  for (const section of fileSections(text)) {
    const path = oldPath(section);
    // A second section for a file is about what the first makes of it, not about base.
    if (path !== null) texts.set(path, texts.has(path) ? null : await readBase(path));
  }
  return texts;
}

function oldPath({ header }: FileSection): string | null {
  return /^--- [abciow]\/([^\t\n\r]+)/m.exec(header)?.[1] ?? null;
}

/** The section's text as it should be; null = as it is. */
type Edit = (section: FileSection, base: string | null) => string | null;

class Draft {
  constructor(
    private form: PatchForm,
    private readonly base: BaseTexts,
  ) {}

  get text(): string {
    return this.form.text;
  }

  step(repair: Repair, text: string): readonly PatchForm[] {
    if (text === this.form.text) return [];
    this.form = { text, repairs: [...new Set([...this.form.repairs, repair])] };
    return [this.form];
  }

  edit(repair: Repair, edit: Edit): readonly PatchForm[] {
    return this.step(repair, this.edited(edit));
  }

  /** Hunks at the places that GNU patch finds for them, with the context that the file has there. */
  fuzzy(): readonly PatchForm[] {
    const fits: (Fit | null)[] = [];
    const work = { compared: 0 };
    const text = this.edited((section, base) => {
      if (base === null || section.hunks.length === 0) return null;
      const lines = linesOf(base);
      const fit = locateHunks(section.hunks, lines, work);
      fits.push(fit);
      return fit === null ? null : headerOf(section) + printHunks(fit.runs, lines);
    });
    const fuzz = Math.max(...fits.map((fit) => fit?.fuzz ?? Infinity));
    return Number.isFinite(fuzz) ? this.step(`fuzz-${fuzz}`, text) : [];
  }

  private edited(edit: Edit): string {
    return fileSections(this.form.text)
      .map((section) => edit(section, this.base.get(oldPath(section) ?? '') ?? null) ?? section.text)
      .join('');
  }
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

function headerOf({ text }: FileSection): string {
  return text.slice(0, text.search(/^@@ /m));
}

/** A file with CR LF keeps them; elsewhere, and in new files, they came with the transport of the patch. */
function withFileLineEnds({ text }: FileSection, base: string | null): string | null {
  return base?.includes('\r\n') === true ? null : text.replaceAll('\r\n', '\n');
}

/** Moves blank lines, which were put at the end of a hunk, to where the file has them. */
function withBlanksInPlace(section: FileSection, base: string | null): string | null {
  if (base === null) return null;
  const lines = linesOf(base);
  const hunks = section.hunks.map((hunk) => ({ hunk, placed: placeBlanks(hunk, lines) }));
  if (hunks.every(({ placed }) => placed === null)) return null;
  const printed = hunks.map(({ hunk, placed }) => printHunk(hunk, placed ?? hunk.lines));
  return headerOf(section) + printed.join('');
}

/** @returns null if a blank line could be in several places of the hunk */
function placeBlanks({ lines, oldStart }: Hunk, base: readonly string[]): readonly string[] | null {
  const end = lines.findLastIndex((line) => !/^ \r?$/.test(line)) + 1;
  const placed: string[] = [];
  let at = oldStart - 1;
  for (const line of lines.slice(0, end)) {
    const isOld = /^[- ]/.test(line);
    const blanks = isOld ? countBlanksBefore(`${line.slice(1)}\n`, base, at) : 0;
    if (blanks > 0 && isBesideInsertion(placed)) return null;
    placed.push(...base.slice(at, at + blanks).map((blank) => ` ${blank.slice(0, -1)}`), line);
    at += blanks + Number(isOld);
  }
  const left = lines.length - placed.length;
  return left < 0 ? null : [...placed, ...lines.slice(end, end + left)];
}

/** Number of blank lines at an index of the file, if the line comes after them. */
function countBlanksBefore(line: string, base: readonly string[], at: number): number {
  let index = at;
  while (base[index] !== line && /^\r?\n$/.test(base[index] ?? '')) index += 1;
  return base[index] === line ? index - at : 0;
}

/** Whether the last lines are added and replace none: a blank line next to them may have been on either side. */
function isBesideInsertion(lines: readonly string[]): boolean {
  const before = lines[lines.findLastIndex((line) => !/^[+\\]/.test(line))];
  return lines.at(-1)?.startsWith('+') === true && before?.startsWith('-') !== true;
}

function printHunk({ oldStart, oldLines, newStart, newLines }: Hunk, lines: readonly string[]): string {
  const [old, changed] = [oldStart - Number(oldLines === 0), newStart - Number(newLines === 0)];
  return `@@ -${old},${oldLines} +${changed},${newLines} @@\n${lines.map((line) => `${line}\n`).join('')}`;
}
