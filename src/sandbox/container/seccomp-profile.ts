import { sha256 } from '../../core/identifier.js';

/*
 * System calls allowed in a sandbox: those that programs, compilers and test runners need on 64-bit machines. All
 * others return "not permitted". Deliberately omitted: namespaces and mounts, bpf, perf events, io_uring, userfaultfd,
 * the kernel's keyrings, handles of other processes' files, and all socket families but four (no AF_VSOCK, which
 * reaches the host of a virtual machine, and none of the rarer ones).
 */
const ALLOWED = `
  open openat openat2 creat close close_range read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 lseek
  dup dup2 dup3 pipe pipe2 fcntl flock ioctl fsync fdatasync sync syncfs sync_file_range sync_file_range2 truncate ftruncate
  fallocate stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 getdents getdents64 getcwd chdir
  fchdir mkdir mkdirat rmdir rename renameat renameat2 link linkat unlink unlinkat symlink symlinkat readlink readlinkat mknod
  mknodat chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat umask utime utimes futimesat utimensat setxattr
  lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr
  copy_file_range sendfile splice tee vmsplice readahead fadvise64 name_to_handle_at inotify_init inotify_init1
  inotify_add_watch inotify_rm_watch io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents ioprio_get ioprio_set

  brk mmap munmap mremap mprotect madvise mincore msync mlock mlock2 munlock mlockall munlockall memfd_create membarrier
  remap_file_pages pkey_alloc pkey_free pkey_mprotect map_shadow_stack cachestat mseal

  fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal getpid getppid gettid
  getpgid getpgrp setpgid getsid setsid getuid geteuid getresuid setuid setreuid setresuid setfsuid getgid getegid getresgid
  setgid setregid setresgid setfsgid getgroups setgroups capget capset prctl arch_prctl set_tid_address set_robust_list
  get_robust_list rseq getpriority setpriority getrlimit setrlimit prlimit64 getrusage times sched_yield sched_getaffinity
  sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam sched_getscheduler sched_setscheduler
  sched_get_priority_max sched_get_priority_min sched_rr_get_interval ptrace process_vm_readv process_vm_writev seccomp
  landlock_create_ruleset landlock_add_rule landlock_restrict_self

  rt_sigaction rt_sigprocmask rt_sigpending rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  sigaltstack signalfd signalfd4 pause alarm restart_syscall

  nanosleep clock_nanosleep clock_gettime clock_getres clock_adjtime adjtimex gettimeofday time getitimer setitimer
  timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime

  futex futex_waitv futex_wait futex_wake futex_requeue eventfd eventfd2 epoll_create epoll_create1 epoll_ctl epoll_wait
  epoll_pwait epoll_pwait2 poll ppoll select pselect6 shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd
  msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr

  socketpair bind listen accept accept4 connect getsockname getpeername getsockopt setsockopt sendto recvfrom sendmsg recvmsg
  sendmmsg recvmmsg shutdown

  uname sysinfo getrandom getcpu
`;

/** AF_UNIX, AF_INET, AF_INET6, and AF_NETLINK, which lists interfaces. */
const SOCKET_FAMILIES = [1, 2, 10, 16];
/** PER_LINUX, ADDR_NO_RANDOMIZE (debuggers), PER_LINUX32 (32-bit `uname`), UNAME26, and the query. */
const PERSONALITIES = [0, 0x40000, 8, 0x20000, 0xffffffff];
/** The CLONE_NEW* flags of all namespaces. */
const NEW_NAMESPACE = 0x7e020000;
const ENOSYS = 38;

const ALLOW = 'SCMP_ACT_ALLOW';
const firstArgument = (op: string, value: number, more = {}) => [{ index: 0, value, op: `SCMP_CMP_${op}`, ...more }];

/** The profile of every sandbox; the nodes of a cluster get it as a file (deploy/kubernetes/seccomp.yaml). */
export const SECCOMP_PROFILE = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: 1,
  syscalls: [
    { names: ALLOWED.trim().split(/\s+/), action: ALLOW },
    ...SOCKET_FAMILIES.map((family) => ({ names: ['socket'], action: ALLOW, args: firstArgument('EQ', family) })),
    ...PERSONALITIES.map((kind) => ({ names: ['personality'], action: ALLOW, args: firstArgument('EQ', kind) })),
    { names: ['clone'], action: ALLOW, args: firstArgument('MASKED_EQ', NEW_NAMESPACE, { valueTwo: 0 }) },
    // Its flags are in memory, where a filter cannot see them; on ENOSYS, libraries fall back to `clone`.
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
  ],
} as const;

/**
 * Path of the profile below a kubelet's `seccomp` folder. It names the content, so that a node that still has an earlier
 * version refuses the pod instead of applying that version.
 */
export const SECCOMP_PROFILE_PATH = `bestk/sandbox-${sha256(JSON.stringify(SECCOMP_PROFILE)).slice(0, 16)}.json`;
