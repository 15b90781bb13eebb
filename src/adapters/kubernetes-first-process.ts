/** An ext4 file system has one inode for every 16 KiB (mke2fs.conf, `inode_ratio`), so an entry uses up that much room. */
const ENTRIES_PER_MIB = 64;

/** Exit status of the first process when too many files were made. */
export const TOO_MANY_FILES = 97;

/** Where the first process leaves how the preparation ended. */
const RESULT = '/dev/shm/.bestk';

/*
 * The preparation begins at once: the node takes up to a second to tell that a container runs, which is about as long as it
 * takes. Its exit code goes into a pipe, so that whoever asks for it waits.
 *
 * The shell waits and reaps, and becomes the sleep when somebody kills its own (docker-container-options.ts says why). A
 * child beside it counts files: the cluster's limit on disk counts bytes, and an empty file has none. It looks at the free
 * inodes of the node, which is cheap, and counts those of the container only when enough of them are gone. Whoever kills
 * that child has only the node's own protection to meet (eviction at `nodefs.inodesFree`).
 */
const SCRIPT = String.raw`
result=${RESULT} since=${RESULT}-since life=$1 most=$2
shift 2
if [ $# -gt 0 ]; then
  mkdir -m 700 "$result" && mkfifo "$result/code"
  { "$@" >"$result/out" 2>"$result/err"; echo $? >"$result/code"; } &
fi
trap '' HUP INT QUIT TERM
free() { df -iP / 2>/dev/null | while read -r _ _ _ n _; do echo "$n"; done | tail -n 1; }
count() { find / -xdev -cnewer "$since" 2>/dev/null | head -n "$most" | wc -l; }
{
  : >"$since"
  before=$(free)
  while sleep 3; do
    now=$(free)
    [ "$((before - now))" -ge "$most" ] && [ "$(count)" -ge "$most" ] && kill -USR1 1
  done
} 2>/dev/null &
trap 'exit ${String(TOO_MANY_FILES)}' USR1
sleep "$life" &
wait $! && exit 0
exec sleep "$life"`;

const COLLECT = String.raw`
until [ -p "$1/code" ]; do sleep 1; done
read -r code <"$1/code"
cat "$1/out"
cat "$1/err" >&2
rm -rf "$1"
exit "$code"`;

/** What ends, once, as the preparation did and says what it said. */
export const PREPARED = ['/bin/sh', '-c', COLLECT, 'sh', RESULT];

/**
 * Process 1 of a pod that lives for `lifeS` seconds and may hold as many new files as fit on `diskMb`; the preparation may
 * be empty.
 */
export function firstProcess(lifeS: number, diskMb: number, preparation: readonly string[]): string[] {
  return ['/bin/sh', '-c', SCRIPT, 'bestk', String(lifeS), String(diskMb * ENTRIES_PER_MIB), ...preparation];
}
