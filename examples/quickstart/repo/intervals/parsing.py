"""Sets of times of the day, to and from text."""

from .clock import DAY, format_clock, parse_clock
from .errors import ParseError
from .interval import Interval
from .interval_set import IntervalSet

CLOSED = ("", "closed", "-")


def parse_range(text):
    """"09:00-12:30" as an interval. A range that ends before it starts runs past midnight, up to 48:00."""
    start_text, dash, end_text = text.partition("-")
    if not dash:
        raise ParseError(text, "a range like 09:00-12:30")
    start, end = parse_clock(start_text), parse_clock(end_text)
    if end < start:
        end += DAY
    return Interval(start, end)


def parse_set(text):
    """"09:00-12:00, 13:00-17:00" as a set; "closed", "-" and the empty text are the empty set."""
    text = text.strip()
    if text.lower() in CLOSED:
        return IntervalSet()
    return IntervalSet(parse_range(part) for part in text.split(","))


def format_set(intervals):
    """The inverse of parse_set for a set within one day."""
    if not intervals:
        return "closed"
    return ", ".join("%s-%s" % (format_clock(item.start), format_clock(item.end)) for item in intervals)
