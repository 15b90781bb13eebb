"""Opening hours that repeat every week."""

from .clock import DAY
from .errors import ParseError
from .interval import Interval
from .interval_set import IntervalSet
from .parsing import parse_set

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class WeeklyHours:
    """For each weekday a set of minutes of that day, 0 to 1440."""

    def __init__(self, hours=None):
        """`hours` maps weekdays to sets; what runs past midnight is carried into the next weekday."""
        self._days = {day: IntervalSet() for day in WEEKDAYS}
        for day, opened in (hours or {}).items():
            self._open(_index(day), opened)

    @classmethod
    def parse(cls, spec):
        """{"mon-fri": "09:00-17:00", "sat": "closed"}; days may be ranges, also over the weekend ("sat-mon")."""
        made = cls()
        for days, text in spec.items():
            opened = parse_set(text)
            for index in _day_range(days):
                made._open(index, opened)
        return made

    def _open(self, index, opened):
        today, tomorrow = WEEKDAYS[index], WEEKDAYS[(index + 1) % 7]
        self._days[today] |= opened.clip(Interval(0, DAY))
        self._days[tomorrow] |= opened.shift(-DAY).clip(Interval(0, DAY))

    def on(self, day):
        """The hours of a weekday, given by name or by datetime.date."""
        if hasattr(day, "weekday"):
            return self._days[WEEKDAYS[day.weekday()]]
        return self._days[WEEKDAYS[_index(day)]]

    def is_open(self, moment):
        """Whether the place is open at a datetime."""
        return self.on(moment).contains(moment.hour * 60 + moment.minute)

    def available(self, day, booked):
        """What is left of a day's hours after its bookings, a set of minutes of that day."""
        return self.on(day).difference(booked)

    def closed_on(self, day):
        """The part of the day outside the hours."""
        return self.on(day).complement(Interval(0, DAY))

    def total(self):
        """Open minutes a week."""
        return sum(hours.total() for hours in self._days.values())


def _index(day):
    try:
        return WEEKDAYS.index(day.strip().lower()[:3])
    except ValueError:
        raise ParseError(day, "one of %s" % ", ".join(WEEKDAYS)) from None


def _day_range(text):
    first, dash, last = text.partition("-")
    begin = _index(first)
    if not dash:
        return [begin]
    count = (_index(last) - begin) % 7 + 1
    return [(begin + offset) % 7 for offset in range(count)]
