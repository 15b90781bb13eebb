import sys
import traceback

from intervals import WeeklyHours, free_slots, parse_set


# The issue's own example: one-hour appointments around a meeting that runs across the lunch break.
def check():
    hours = WeeklyHours.parse({"mon-fri": "09:00-12:00, 13:00-17:00"})
    slots = free_slots(hours.on("mon"), parse_set("11:00-14:00"), length=60)
    print(slots)
    return [slot.start for slot in slots] == [540, 600, 840, 900, 960]


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
