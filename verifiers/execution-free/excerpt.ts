/**
 * Head and tail of a text with a note of what was cut between them; the text itself when that would not be shorter.
 * @param keep characters to keep in all, a third of them at the head: how a run ended matters most
 */
export function excerpt(text: string, keep: number): string {
  const head = wholeCharacters(text.slice(0, Math.floor(keep / 3)));
  const tailLength = keep - Math.floor(keep / 3);
  const tail = tailLength === 0 ? '' : wholeCharacters(text.slice(-tailLength));
  const note = `[... ${text.length - head.length - tail.length} characters cut ...]`;
  const short = [head, note, tail].filter((part) => part !== '').join('\n');
  return short.length < text.length ? short : text;
}

/** Without half a character at its ends. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
}
