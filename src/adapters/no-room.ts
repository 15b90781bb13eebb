/** What a command says that found no room on a disk: its own doing, or the engine's, which is nobody's verdict. */
const NO_ROOM = /No space left on device|Errno 28|ENOSPC/;

export function saysNoRoom(...output: readonly Buffer[]): boolean {
  return output.some((said) => NO_ROOM.test(said.toString('latin1')));
}
