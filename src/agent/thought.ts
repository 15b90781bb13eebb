const OPEN = '<think>';
const CLOSE = '</think>';

/**
 * An answer without what a reasoning model thought aloud before it. Some servers leave the opening tag out, so that
 * everything up to the last closing tag is thought; a thought that is never closed is all there is.
 */
export function splitThought(text: string): { thought: string; answer: string } {
  const close = text.lastIndexOf(CLOSE);
  if (close !== -1) {
    const thought = text.slice(0, close).replace(OPEN, '').trim();
    return { thought, answer: text.slice(close + CLOSE.length) };
  }
  const open = text.indexOf(OPEN);
  if (open === -1) return { thought: '', answer: text };
  return { thought: text.slice(open + OPEN.length).trim(), answer: text.slice(0, open) };
}
