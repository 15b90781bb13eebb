"""Appointments of a fixed length in what is free."""

from .errors import IntervalError
from .interval import Interval


def free_slots(opened, busy, length, step=None):
    """Every slot of `length` that lies in `opened` and outside `busy`, earliest first.

    Slots start at the beginning of each free stretch and then every `step` (default: `length`).
    """
    step = length if step is None else step
    if not length > length - length or not step > step - step:
        raise IntervalError("length and step of a slot must be positive")
    slots = []
    for stretch in opened.difference(busy):
        start = stretch.start
        while start + length <= stretch.end:
            slots.append(Interval(start, start + length))
            start = start + step
    return slots


def first_free(opened, busy, length, after=None):
    """The earliest interval of `length` in what is free, not starting before `after`; None when there is none."""
    for stretch in opened.difference(busy):
        start = stretch.start if after is None else max(stretch.start, after)
        if start + length <= stretch.end:
            return Interval(start, start + length)
    return None


def utilisation(opened, busy):
    """The busy share of the opened time, 0.0 to 1.0; 0.0 when never opened. For numeric ends."""
    total = opened.total()
    if not total:
        return 0.0
    return opened.intersection(busy).total() / total
