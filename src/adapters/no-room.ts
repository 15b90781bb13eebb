/**
 * What a command may say that found no room on a disk: its own doing, or the engine's, which is nobody's verdict. Git and
 * shells do not always give the system's word for it. One word too many costs a look at the engine.
 */
const NO_ROOM = /No space left on device|Errno 28|ENOSPC|Out of disk ?space|unable to write|write error|I\/O error/i;

export function saysNoRoom(...output: readonly Buffer[]): boolean {
  return output.some((said) => NO_ROOM.test(said.toString('latin1')));
}
