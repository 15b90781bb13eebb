"""Times of the day as minutes since midnight."""

import re

from .errors import ParseError

DAY = 24 * 60

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})")


def parse_clock(text):
    """Minutes since midnight of "9:05" or "09:05"; "24:00" is the end of the day."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise ParseError(text, "a time like 09:30")
    hours, minutes = int(match.group(1)), int(match.group(2))
    total = hours * 60 + minutes
    if minutes > 59 or total > DAY:
        raise ParseError(text, "a time from 00:00 to 24:00")
    return total


def format_clock(minutes):
    """The inverse of parse_clock."""
    if not 0 <= minutes <= DAY:
        raise ParseError(minutes, "minutes from 0 to %d" % DAY)
    return "%02d:%02d" % divmod(minutes, 60)
