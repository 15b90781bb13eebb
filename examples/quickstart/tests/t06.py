import sys
import traceback
from datetime import datetime, timedelta

from intervals import Interval, IntervalSet


# The other service: ends are datetimes.
def check():
    day = datetime(2024, 3, 4)

    def at(start, end):
        return Interval(day + timedelta(hours=start), day + timedelta(hours=end))

    left = IntervalSet([at(9, 12), at(13, 17)]) - IntervalSet([at(11, 14)])
    print(left)
    return list(left) == [at(9, 11), at(14, 17)]


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
