import sys
import traceback

from intervals import free_slots, parse_set


# After the meeting the grid of appointments starts at its end, not at the start of the block.
def check():
    opened = parse_set("09:00-12:00, 13:00-17:00")
    busy = parse_set("11:00-14:00")
    by_ninety = [slot.start for slot in free_slots(opened, busy, length=90)]
    stepped = [slot.start for slot in free_slots(opened, busy, length=60, step=45)]
    print(by_ninety, stepped)
    return by_ninety == [540, 840, 930] and stepped == [540, 585, 840, 885, 930]


try:
    ok = check()
except Exception:
    traceback.print_exc()
    sys.exit(2)
sys.exit(0 if ok else 2)
