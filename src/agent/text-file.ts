/** A file as an editor sees it, and what is needed to write it back byte by byte. */
export interface TextFile {
  readonly text: string;
  readonly encoding: 'utf-8' | 'latin1';
  readonly endings: 'lf' | 'crlf';
}

/** @returns null for what is no text: it holds a NUL byte */
export function decodeFile(bytes: Uint8Array): TextFile | null {
  if (bytes.includes(0)) return null;
  const utf8 = decodeUtf8(bytes);
  const text = utf8 ?? Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  const lines = text.split('\n').length - 1;
  const endings = lines > 0 && text.split('\r\n').length - 1 === lines ? 'crlf' : 'lf';
  return { text, encoding: utf8 === null ? 'latin1' : 'utf-8', endings };
}

/** @returns null when the file's encoding has no room for a character of `text` */
export function encodeFile(text: string, encoding: TextFile['encoding']): Uint8Array | null {
  if (encoding === 'utf-8') return new TextEncoder().encode(text);
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  return codes.some((code) => code > 0xff) ? null : Uint8Array.from(codes);
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
