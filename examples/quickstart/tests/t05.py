import random
import sys
import traceback

from intervals import Interval, IntervalSet


def points(intervals):
    return {point for item in intervals for point in range(item.start, item.end)}


def random_set(rng):
    ends = (sorted((rng.randrange(40), rng.randrange(40))) for _ in range(rng.randrange(7)))
    return IntervalSet(Interval(start, end) for start, end in ends)


# Random small sets against the same subtraction done point by point; the result must be normalised as well.
def check():
    rng = random.Random(17)
    for _ in range(500):
        left, right = random_set(rng), random_set(rng)
        result = left - right
        if points(result) != points(left) - points(right) or result != IntervalSet(result):
            print(left, right, result)
            return False
    return True


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
