/**
 * Notes how every existing test of the repository ends, whatever runner the regression command starts and however it
 * prints: loaded by each Python process as `sitecustomize`, it listens to `unittest` (Django's runner included) and, as
 * a plug-in, to pytest. Nothing is read from the output, where a patch can print what it likes; a test that is not
 * noted has not passed.
 *
 * One JSON line a test is appended to the file that BESTK_PROBE names: `{"t": id, "s": "passed|failed|skipped", "k": key}`.
 * File and key leave the environment when a process starts, before any code of the repository runs in it; a note without
 * the key is nobody's.
 */
export const PYTHON_TEST_PROBE = String.raw`
"""PYTEST_DONT_REWRITE"""
import json, os, sys

TARGET, _, KEY = os.environ.pop('BESTK_PROBE', '').partition('|')

def note(test, status, target=TARGET, key=KEY, opening=os.open, writing=os.write, closing=os.close,
         flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND, dump=json.dumps):
    if not target:
        return
    handle = opening(target, flags, 0o600)
    writing(handle, (dump({'t': str(test), 's': status, 'k': key}) + '\n').encode())
    closing(handle)

def pytest_runtest_logreport(report):
    if report.failed:
        note(report.nodeid, 'failed')
    elif report.skipped or hasattr(report, 'wasxfail'):
        note(report.nodeid, 'skipped')
    elif report.when == 'call':
        note(report.nodeid, 'passed')

def listen_to_unittest():
    from unittest.result import TestResult

    def listen(method, status):
        original = getattr(TestResult, method)

        def noting(self, test, *rest, **named):
            note(test.id(), status)
            return original(self, test, *rest, **named)
        setattr(TestResult, method, noting)

    for method, status in (('addSuccess', 'passed'), ('addFailure', 'failed'), ('addError', 'failed'),
                           ('addUnexpectedSuccess', 'failed'), ('addSkip', 'skipped'),
                           ('addExpectedFailure', 'skipped')):
        listen(method, status)
    original = TestResult.addSubTest

    def sub_test(self, test, subtest, error):
        if error is not None:
            note(test.id(), 'failed')
        return original(self, test, subtest, error)
    TestResult.addSubTest = sub_test
`.trimStart();

/** Hides itself again and lets the image's own `sitecustomize`, if there is one, run as it would have. */
export const PYTHON_SITE_CUSTOMIZE = String.raw`
import os, sys
import bestk_probe
bestk_probe.listen_to_unittest()
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if entry != here]
own = sys.modules.pop('sitecustomize')
try:
    import sitecustomize
except ImportError:
    sys.modules['sitecustomize'] = own
`.trimStart();
