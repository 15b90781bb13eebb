import sys
import traceback

from intervals import WeeklyHours, format_set, parse_set


# Three blocks a day: the workshop starts in the first, swallows the second and ends in the third.
def check():
    hours = WeeklyHours.parse({"mon-fri": "08:00-10:00, 11:00-13:00, 14:00-18:00"})
    left = format_set(hours.available("tue", parse_set("09:00-16:00")))
    print(left)
    return left == "08:00-09:00, 16:00-18:00"


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
