import sys
import traceback

from intervals.sets import IntervalSet, subtract


# Subtraction across two blocks through the function behind the operator.
def check():
    return subtract(IntervalSet([(0, 5), (10, 15)]), IntervalSet([(3, 12)])) == IntervalSet([(0, 3), (12, 15)])


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
