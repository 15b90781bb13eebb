import sys
import traceback

from intervals import Interval, first_free, parse_set


# The first free hour after a meeting that starts before opening and ends in the second block.
def check():
    opened = parse_set("09:00-12:00, 13:00-17:00")
    found = first_free(opened, parse_set("08:00-14:00"), 60)
    print(found)
    return found == Interval(840, 900)


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
