/**
 * Notes how every existing test of the repository ends, whatever runner the regression command starts and however it
 * prints: loaded by each Python process as `sitecustomize`, it listens to `unittest` (Django's runner included) and, as
 * a plug-in, to pytest. Nothing is read from the output, where a patch can print what it likes; a test that is not
 * noted has not passed.
 *
 * One JSON line a test is appended to the file that BESTK_PROBE names: `{"t": id, "s": "passed|failed|skipped", "k": key}`.
 * When a function of the runner itself is another one than at the start, one line more says which: `{"t", "s", "k", "c": [name]}`.
 * File and key leave the environment when a process starts, before any code of the repository runs in it; a note without
 * the key is nobody's.
 */
export const PYTHON_TEST_PROBE = String.raw`
"""PYTEST_DONT_REWRITE"""
import json, os, sys

TARGET, _, KEY = os.environ.pop('BESTK_PROBE', '').partition('|')

RUNNERS = ('unittest.case', 'unittest.result', 'unittest.suite', 'pluggy._callers', 'pluggy._hooks',
           '_pytest.main', '_pytest.nodes', '_pytest.outcomes', '_pytest.python', '_pytest.reports', '_pytest.runner',
           '_pytest.skipping', '_pytest.unittest')
known, told = {}, set()

def functions(name, modules=sys.modules, a_type=type):
    module = modules.get(name)
    for key, value in list(vars(module).items()) if module else ():
        if isinstance(value, a_type):
            if value.__module__ == name:
                for attribute, member in list(vars(value).items()):
                    if callable(member) or isinstance(member, (classmethod, staticmethod)):
                        yield name + '.' + key + '.' + attribute, (member, getattr(member, '__code__', None))
        elif callable(value):
            yield name + '.' + key, (value, getattr(value, '__code__', None))

def remember(names=RUNNERS, known=known, functions=functions):
    for name in names:
        known.update(functions(name))

def changed(names=RUNNERS, known=known, functions=functions):
    now = {}
    for name in names:
        now.update(functions(name))
    return sorted(name for name, (member, code) in known.items()
                  if name not in now or now[name][0] is not member or now[name][1] is not code)

def note(test, status, target=TARGET, key=KEY, opening=os.open, writing=os.write, closing=os.close,
         flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND, dump=json.dumps, changed=changed, told=told):
    if not target:
        return
    new = [name for name in changed() if name not in told]
    told.update(new)
    lines = [{'t': str(test), 's': status, 'k': key}]
    if new:
        lines.append({'t': 'runner', 's': 'failed', 'k': key, 'c': new[:20]})
    handle = opening(target, flags, 0o600)
    writing(handle, ''.join(dump(line) + '\n' for line in lines).encode())
    closing(handle)

def pytest_load_initial_conftests():
    remember()

pytest_load_initial_conftests.pytest_impl = {'tryfirst': True}

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
    import unittest.case, unittest.suite
    remember()
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
