import sys
import traceback

from intervals import WeeklyHours, format_set, parse_set


# A booking in each block: both are taken out.
def check():
    hours = WeeklyHours.parse({"mon-fri": "09:00-12:00, 13:00-17:00"})
    left = format_set(hours.available("mon", parse_set("11:00-12:00, 13:00-14:00")))
    print(left)
    return left == "09:00-11:00, 14:00-17:00"


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
