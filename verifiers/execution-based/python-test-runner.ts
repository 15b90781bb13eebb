/**
 * Runs one generated test inside the sandbox and proves that the test itself reached its end.
 *
 * `python3 RUNNER SCRIPT ROOT VERDICT` with a nonce as the first line of stdin. The script runs as `__main__` with the
 * repository's root first on `sys.path`. When it ends by falling off its end or by a `SystemExit` that no code of the
 * repository raised, the runner writes `<nonce> <status>` to VERDICT and leaves with that status at once, so that no
 * exit handler can change it. Patched code that prints markers, calls `os._exit(0)` or raises `SystemExit(0)` leaves no
 * such proof. (It shares the process with the test: a patch written against this very runner could still cheat, which
 * is why the regression set and the judge stand beside it.)
 */
export const PYTHON_TEST_RUNNER = String.raw`
import os, sys, traceback, types

def prove(path, line, opening=os.open, writing=os.write, closing=os.close,
          flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL):
    handle = opening(path, flags, 0o600)
    writing(handle, line.encode())
    closing(handle)

def raised_by_repository(stop, root, script, realpath=os.path.realpath, separator=os.sep):
    frame = stop.__traceback__.tb_next
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        path = realpath(name)
        if name != script and (path == root or path.startswith(root + separator)):
            return name
        frame = frame.tb_next
    return None

def leave(status, quit=os._exit):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    quit(status)

def main():
    script, root, verdict = sys.argv[1:4]
    nonce = sys.stdin.readline().strip()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    root = os.path.realpath(root)
    with open(script, 'rb') as file:
        source = file.read()
    module = types.ModuleType('__main__')
    module.__file__ = script
    sys.modules['__main__'] = module
    sys.argv = [script]
    sys.path[0] = root
    show, system_exit, check = traceback.print_exc, SystemExit, raised_by_repository
    status = 0
    try:
        exec(compile(source, script, 'exec'), module.__dict__)
    except system_exit as stop:
        culprit = check(stop, root, script)
        if culprit is not None:
            print('bestk: the exit was raised by the repository, not by the test: ' + culprit, file=sys.stderr)
            leave(70)
        status = 0 if stop.code is None else stop.code
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        show()
        leave(1)
    prove(verdict, nonce + ' ' + str(int(status)))
    leave(int(status))

main()
`.trimStart();
