import type { ExecOutcome, SandboxSession } from '../../src/ports/sandbox.js';
import { go, sh, spec } from '../fixtures/sandbox-commands.js';
import type { EngineHarness } from './engine-harness.js';

/** On a real engine: what the user that patches and tests run as can do beside root's files and processes. */
export function testsUserContract(name: string, { makeSandbox, leftovers }: EngineHarness): void {
  describe(`The tests' user: ${name}`, () => {
    const sandbox = makeSandbox();
    let session: SandboxSession;

    beforeAll(async () => {
      session = await sandbox.open({ ...spec, separatesUsers: true }, go);
    });

    afterAll(async () => {
      await sandbox.closeAll();
      expect(await leftovers()).toEqual([]);
    });

    const asTests = (...argv: readonly string[]): Promise<ExecOutcome> =>
      session.exec({ argv, as: 'tests', deadlineS: 30 }, go);
    const shell = (script: string): Promise<ExecOutcome> => asTests('sh', '-c', script);
    const python = (...lines: readonly string[]): Promise<ExecOutcome> => asTests('python3', '-c', lines.join('\n'));

    it('is another one than root, has a name and the home of the image, and no right at all', async () => {
      expect(session.testsUser).toEqual({ uid: 59_999, gid: 59_999 });
      const { stdout } = await shell(
        'id -u; id -G; id -un; echo "$HOME"; ls -d "$HOME"; grep CapEff /proc/self/status',
      );
      expect(stdout).toBe('59999\n59999\ntests\n/root\n/root\nCapEff:\t0000000000000000\n');
    });

    it('reads the repository, and writes to memory file systems alone', async () => {
      const { stdout } = await shell(
        'cat /testbed/calc.py >/dev/null && for f in / /root /testbed /testbed/tests /testbed/.git /var/tmp /run /run/lock /tmp /dev/shm; do touch "$f/new" 2>/dev/null && echo "$f"; done; ' +
          'for f in /etc/hosts /etc/hostname /etc/resolv.conf /testbed/calc.py; do (: >>"$f") 2>/dev/null && echo "$f"; done; true',
      );
      expect(stdout).toBe('/tmp\n/dev/shm\n');
    });

    it('neither reads what is written for root alone nor changes what all may read', async () => {
      const files = [
        { path: '/var/lib/ours/secret', content: 'secret', mode: 0o600 },
        { path: '/var/lib/ours/public', content: 'public', mode: 0o644 },
        { path: '/var/lib/ours/inbox', content: '', mode: 0o622 },
      ];
      await session.writeFiles(files, go);
      const { stdout } = await shell(
        'cd /var/lib/ours; cat secret; cat public; cat inbox; echo line >>inbox && echo wrote; rm -f public; mv public x; echo x >public; (: >x); ls',
      );
      expect(stdout).toBe('publicwrote\ninbox\npublic\nsecret\n');
      expect(Buffer.from((await session.readFile('/var/lib/ours/inbox', 99, go)) ?? []).toString()).toBe('line\n');
    });

    it('neither signals, reads nor traces a process of root’s', async () => {
      const root = session.exec({ argv: ['sleep', '5'], deadlineS: 20 }, go);
      const { stdout } = await python(
        'import ctypes, os, time',
        'def tried(what):',
        '    try: what(); print("did it")',
        '    except OSError as error: print(error.errno)',
        'sleeps = []',
        'while not sleeps:',
        '    sleeps = [p for p in os.listdir("/proc") if p.isdigit() and open("/proc/%s/comm" % p).read() == "sleep\\n"]',
        'for pid in (1, int(sleeps[-1])):',
        '    for signal in (9, 19): tried(lambda: os.kill(pid, signal))',
        '    for name in ("environ", "mem", "fd/1"): tried(lambda: open("/proc/%d/%s" % (pid, name)))',
        '    print(ctypes.CDLL(None).ptrace(16, pid, 0, 0))',
      );
      expect(stdout).toBe('1\n1\n13\n13\n13\n-1\n'.repeat(2));
      expect(await root).toMatchObject({ kind: 'exited', exitCode: 0 });
    });

    it('is root’s to end', async () => {
      await shell('setsid sleep 600 >/dev/null 2>&1 &');
      const ended = await sh(
        session,
        'for p in /proc/[0-9]*; do grep -q "^Uid:.59999" "$p/status" && kill -9 "${p#/proc/}" && echo killed; done',
      );
      expect(ended.stdout).toBe('killed\n');
    });

    it('gains nothing by programs that change the user', async () => {
      const { stdout } = await shell(
        'su -c id root </dev/null 2>/dev/null; setpriv --reuid 0 id 2>/dev/null; unshare -Ur id 2>/dev/null; echo no',
      );
      expect(stdout).toBe('no\n');
    });

    it('fills no disk by files that nobody sees', async () => {
      const { stdout } = await python(
        'import os',
        'held, total = [], 0',
        'for place in ("/testbed", "/var/tmp", "/root", "/", "/tmp", "/dev/shm"):',
        '    try:',
        '        for i in range(200):',
        '            name = "%s/%d" % (place, i)',
        '            file = open(name, "wb", buffering=0)',
        '            held.append(file); os.unlink(name)',
        '            total += file.write(bytes(1 << 20))',
        '    except OSError: pass',
        'print(total >> 20)',
      );
      // Less than the 64 MiB of /tmp and the 32 of /dev/shm, which are the sandbox's memory.
      expect(Number(stdout)).toBeLessThanOrEqual(96);
    });

    it('is gone from sessions that did not ask for it', async () => {
      await using plain = await sandbox.open(spec, go);
      expect(plain.testsUser).toBeNull();
      expect((await sh(plain, 'grep CapEff /proc/self/status')).stdout).toBe('CapEff:\t0000000000000000\n');
      await expect(plain.exec({ argv: ['id'], as: 'tests', deadlineS: 9 }, go)).rejects.toThrow(
        'does not keep users apart',
      );
    });

    it('and everybody else is refused what no test needs of the kernel', async () => {
      const probe = [
        'import ctypes, os, socket, threading',
        'c = ctypes.CDLL(None, use_errno=True)',
        'import platform',
        'arm = platform.machine() == "aarch64"',
        'calls = {"io_uring_setup": 425, "userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217), "unshare": (272, 97)}',
        'for name, number in calls.items():',
        '    number = number if isinstance(number, int) else number[arm]',
        '    print(name, c.syscall(number, 0x10000000 if name == "unshare" else 0, 0, 0, 0, 0), ctypes.get_errno())',
        'for family in (40, 38, 17):',
        '    try: socket.socket(family, socket.SOCK_STREAM); print("socket")',
        '    except OSError as error: print(error.errno)',
        't = threading.Thread(target=lambda: print("thread")); t.start(); t.join()',
        'a, b = socket.socketpair(); s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())',
        'print("child", os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1])',
      ].join('\n');
      const refused = ['io_uring_setup', 'userfaultfd', 'bpf', 'perf_event_open', 'keyctl', 'add_key', 'unshare'];
      const expected = `${refused.map((call) => `${call} -1 1\n`).join('')}1\n1\n1\nthread\nchild 0\n`;
      expect((await python(probe)).stdout).toBe(expected);
      expect((await session.exec({ argv: ['python3', '-c', probe], deadlineS: 30 }, go)).stdout).toBe(expected);
    });

    it('cannot make silence last longer than it may, by the host’s clock', async () => {
      await using own = await sandbox.open({ ...spec, separatesUsers: true }, go);
      const script = 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done; sleep 600';
      const asked = performance.now();
      const outcome = await own.exec({ argv: ['sh', '-c', script], deadlineS: 60, silenceS: 2 }, go);
      expect(outcome).toMatchObject({ kind: 'timed-out', stdout: '1\n2\n3\n4\n5\n6\n' });
      expect(performance.now() - asked).toBeLessThan(30_000);
    });
  });
}
