"""One half-open interval."""

from .errors import IntervalError


class Interval:
    """``[start, end)``: holds its start, not its end. Immutable, ordered by start, then by end."""

    __slots__ = ("start", "end")

    def __init__(self, start, end):
        if end < start:
            raise IntervalError("an interval must not end (%r) before it starts (%r)" % (end, start))
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    def __setattr__(self, name, value):
        raise AttributeError("an Interval is immutable")

    @property
    def length(self):
        return self.end - self.start

    @property
    def empty(self):
        return self.start == self.end

    def contains(self, point):
        return self.start <= point < self.end

    def covers(self, other):
        """Whether every point of `other` is in this interval; an empty interval is covered by all."""
        return other.empty or (self.start <= other.start and other.end <= self.end)

    def overlaps(self, other):
        """Whether the two share a point. Touching intervals do not."""
        return max(self.start, other.start) < min(self.end, other.end)

    def touches(self, other):
        return self.end == other.start or other.end == self.start

    def intersect(self, other):
        """The shared part, or None."""
        if not self.overlaps(other):
            return None
        return Interval(max(self.start, other.start), min(self.end, other.end))

    def shift(self, by):
        return Interval(self.start + by, self.end + by)

    def split(self, point):
        """The parts before and after `point`; a point outside leaves the interval whole."""
        if not self.start < point < self.end:
            return [self]
        return [Interval(self.start, point), Interval(point, self.end)]

    def __eq__(self, other):
        if not isinstance(other, Interval):
            return NotImplemented
        return (self.start, self.end) == (other.start, other.end)

    def __lt__(self, other):
        return (self.start, self.end) < (other.start, other.end)

    def __hash__(self):
        return hash((self.start, self.end))

    def __repr__(self):
        return "Interval(%r, %r)" % (self.start, self.end)
