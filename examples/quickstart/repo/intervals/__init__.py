"""Half-open intervals, sets of them, opening hours and free slots."""

from .clock import DAY, format_clock, parse_clock
from .errors import IntervalError, ParseError
from .interval import Interval
from .interval_set import IntervalSet
from .parsing import format_set, parse_set
from .slots import first_free, free_slots, utilisation
from .weekly import WEEKDAYS, WeeklyHours

__all__ = [
    "DAY",
    "Interval",
    "IntervalError",
    "IntervalSet",
    "ParseError",
    "WEEKDAYS",
    "WeeklyHours",
    "first_free",
    "format_clock",
    "format_set",
    "free_slots",
    "parse_clock",
    "parse_set",
    "utilisation",
]
