import type { ExecRequest, Ids, SandboxSession } from '../../../src/ports/sandbox.js';

/** Where Python keeps compiled modules in a sandbox: scratch memory, the repository stays as it is. */
export const BYTECODE_FOLDER = '/tmp/.pycache';

/** Unpacked it counts against a sandbox's memory. */
const LARGEST_ARCHIVE = 64 * 1024 * 1024;
const DEADLINE_S = 60;
const UNPACK = 'mkdir -p "$2" && tar -xf "$1" -C "$2" && { [ -z "$3" ] || chown -R "$3" "$2"; }; rm -f "$1"';

/**
 * Compiled modules, carried from one sandbox into the next: compiling anew is most of what a short test on a large package
 * costs. Python checks each against its source's time and size, so a patched file is compiled again. Only a sandbox that
 * ran nothing but the image's own code may give its bytecode away.
 */
export class Bytecode {
  private archive: Uint8Array | null = null;

  constructor(private readonly nonce: () => string) {}

  /** Takes what a session that ran only the image's own code has compiled; nothing, where there is no `tar`. */
  async takeFrom(session: SandboxSession, signal: AbortSignal): Promise<void> {
    const path = `${scratchDirectory(this.nonce)}.tar`;
    const { kind } = await session.exec(shell('tar -cf "$1" -C "$2" .', path), signal);
    if (kind !== 'exited') return;
    const archive = await session.readFile(path, LARGEST_ARCHIVE + 1, signal);
    if (archive !== null && archive.length <= LARGEST_ARCHIVE) this.archive = archive;
  }

  /**
   * Gives a fresh session what was taken before, if anything.
   * @param owner who adds to it; null = whoever runs commands there
   * @returns false when the session did not survive it; the archive is given up, and a further session goes without
   */
  async giveTo(session: SandboxSession, owner: Ids | null, signal: AbortSignal): Promise<boolean> {
    if (this.archive === null) return true;
    const path = `${scratchDirectory(this.nonce)}.tar`;
    await session.writeFiles([{ path, content: this.archive }], signal);
    const { kind } = await session.exec(shell(UNPACK, path, owner === null ? '' : `${owner.uid}:${owner.gid}`), signal);
    if (kind !== 'exited') this.archive = null;
    return kind === 'exited';
  }
}

function shell(script: string, path: string, owner = ''): ExecRequest {
  return { argv: ['sh', '-c', script, 'sh', path, BYTECODE_FOLDER, owner], deadlineS: DEADLINE_S };
}

/**
 * A directory with a neutral, random name outside the repository, so that no patch can put a file in its place, and where an
 * image's own user may write too.
 */
export function scratchDirectory(nonce: () => string): string {
  return `/var/tmp/${nonce().slice(0, 16)}`;
}
