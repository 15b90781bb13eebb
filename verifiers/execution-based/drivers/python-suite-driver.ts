/**
 * Runs generated tests inside the sandbox, one after another, and proves for each that the test itself reached its end.
 *
 * `python3 DRIVER FOLDER ROOT SECONDS COUNT`, nonces of 48 characters on stdin, one a line. Test i is FOLDER/i.py. Each runs
 * in a process of its own, forked before anything of the repository was loaded, as `__main__` with ROOT first on
 * `sys.path`, and has SECONDS to end. For each the driver prints one JSON line:
 * `{"i", "status", "proof", "timed_out", "out_of_memory", "ms", "log"}`; a negative status is the signal that ended it.
 *
 * When a script ends by falling off its end or by a `SystemExit` that no code of the repository raised, its process writes
 * `<nonce> <status>` as proof and leaves with that status at once, so that no exit handler can change it. Patched code
 * that prints markers, calls `os._exit(0)` or raises `SystemExit(0)` leaves no such proof. (It shares the process with the
 * test: a patch written against this very driver could still cheat, which is why the regression set and the judge stand
 * beside it.) The driver itself never has the repository on its path: `PYTHONPATH` comes as `BESTK_PYTHONPATH` and is
 * restored in the tests' processes. It stops after a test that exceeded its time, since what that left may still run.
 */
export const PYTHON_SUITE_DRIVER = String.raw`
import builtins, json, os, select, signal, sys, time, traceback, types

LOG = 2000
NONCE = 48

def raised_by_repository(stop, root, script, realpath=os.path.realpath, separator=os.sep):
    frame = stop.__traceback__.tb_next
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        path = realpath(name)
        if name != script and (path == root or path.startswith(root + separator)):
            return name
        frame = frame.tb_next
    return None

def exits(module=sys, builtin=builtins):
    return [getattr(module, 'exit', None)] + [getattr(builtin, name, None) for name in ('SystemExit', 'exit', 'quit')]

def leave(status, quit=os._exit):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    quit(status)

def prove(path, line, opening=os.open, writing=os.write, closing=os.close,
          flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL):
    handle = opening(path, flags, 0o600)
    writing(handle, line.encode())
    closing(handle)

def run_script(script, root, verdict, nonce):
    with open(script, 'rb') as file:
        source = file.read()
    module = types.ModuleType('__main__')
    module.__file__ = script
    sys.modules['__main__'] = module
    sys.argv = [script]
    path = os.environ.pop('BESTK_PYTHONPATH', '')
    if path:
        os.environ['PYTHONPATH'] = path
    sys.path[:1] = [root] + [entry for entry in path.split(os.pathsep) if entry]
    show, system_exit, check, finish, certify = traceback.print_exc, SystemExit, raised_by_repository, leave, prove
    status, as_they_were, look = 0, exits(), exits
    try:
        exec(compile(source, script, 'exec'), module.__dict__)
    except system_exit as stop:
        culprit = check(stop, root, script)
        if culprit is not None:
            print('bestk: the exit was raised by the repository, not by the test: ' + culprit, file=sys.stderr)
            finish(70)
        if type(stop) is not system_exit:
            finish(70)
        status = 0 if stop.code is None else stop.code
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        show()
        finish(1)
    if any(now is not then for now, then in zip(look(), as_they_were)):
        print('bestk: sys.exit or SystemExit was replaced', file=sys.stderr)
        finish(70)
    certify(verdict, nonce + ' ' + str(int(status)))
    finish(int(status))

def begin(output, script, root, verdict, nonce):
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.closerange(3, 256)
    try:
        run_script(script, root, verdict, nonce)
    finally:
        os._exit(1)

def end_group(pid, number):
    try:
        os.killpg(pid, number)
    except OSError:
        pass

def watch(pid, output, deadline):
    log, status, timed_out, quiet_until = b'', None, False, None
    while True:
        now = time.monotonic()
        if status is None:
            done, value = os.waitpid(pid, os.WNOHANG)
            if done:
                # What it started and left in its group goes with it; a stray holder of the pipe is not waited for.
                status, quiet_until = value, now + 0.1
                end_group(pid, signal.SIGKILL)
            elif now > deadline + 2:
                end_group(pid, signal.SIGKILL)
            elif now > deadline:
                timed_out = True
                end_group(pid, signal.SIGTERM)
        elif now > quiet_until:
            return log, status, timed_out
        pause = 0.05 if status is None else 0.01
        if output is None:
            time.sleep(0.002)
        elif select.select([output], [], [], pause)[0]:
            chunk = os.read(output, 65536)
            if chunk:
                log = chunk[-LOG:] if len(chunk) >= LOG else (log + chunk)[-LOG:]
            else:
                os.close(output)
                output = None
        if output is None and status is not None:
            return log, status, timed_out

def memory_kills():
    for path in ('/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'):
        try:
            with open(path) as file:
                for line in file:
                    if line.startswith('oom_kill '):
                        return int(line.split()[1])
        except (OSError, ValueError):
            pass
    return 0

def exit_code(status):
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)

def fork():
    try:
        return os.fork()
    except OSError:
        # A test before this one left too many processes: the rest belongs into a fresh container.
        sys.exit(75)

def proof_of(path):
    try:
        with open(path) as file:
            return file.read(200)
    except (OSError, ValueError):
        return None

def main():
    folder, root, seconds, count = sys.argv[1:5]
    root = os.path.realpath(root)
    for i in range(int(count)):
        nonce = os.read(0, NONCE + 1).decode().strip()
        script, verdict = os.path.join(folder, str(i) + '.py'), os.path.join(folder, str(i) + '.verdict')
        reading, writing = os.pipe()
        start, kills = time.monotonic(), memory_kills()
        pid = fork()
        if pid == 0:
            os.close(reading)
            begin(writing, script, root, verdict, nonce)
        os.close(writing)
        log, status, timed_out = watch(pid, reading, start + float(seconds))
        code = exit_code(status)
        print(json.dumps({'i': i, 'status': code, 'proof': proof_of(verdict), 'timed_out': timed_out,
                          'out_of_memory': code == -9 and not timed_out and memory_kills() > kills,
                          'ms': round((time.monotonic() - start) * 1000),
                          'log': log.decode('utf-8', 'replace')}), flush=True)
        if timed_out:
            return

main()
`.trimStart();

/** Exit status of a driver that could start no further process. */
export const NO_PROCESS_LEFT = 75;
