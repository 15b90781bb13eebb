import sys
import traceback

from intervals import Interval, IntervalSet


# Subtraction of plain sets, by method and by operator, as the issue shows it.
def check():
    left = IntervalSet([Interval(0, 5), Interval(10, 15)])
    cut = IntervalSet([Interval(3, 12)])
    expected = IntervalSet([Interval(0, 3), Interval(12, 15)])
    print(left - cut, left.difference(cut))
    return left - cut == expected and left.difference(cut) == expected


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
