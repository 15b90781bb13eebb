"""A normalised, immutable set of intervals."""

from .interval import Interval


class IntervalSet:
    """Sorted, without empty, overlapping or touching intervals. Operations return new sets."""

    __slots__ = ("_items",)

    def __init__(self, intervals=()):
        self._items = tuple(_normalise(intervals))

    @classmethod
    def _from_sorted(cls, items):
        """Trusts the caller that `items` are normalised already."""
        made = cls.__new__(cls)
        made._items = tuple(items)
        return made

    # queries

    def contains(self, point):
        return any(item.contains(point) for item in self._items)

    def covers(self, interval):
        return interval.empty or any(item.covers(interval) for item in self._items)

    def overlaps(self, interval):
        return any(item.overlaps(interval) for item in self._items)

    def span(self):
        """The smallest interval around everything, or None for the empty set."""
        if not self._items:
            return None
        return Interval(self._items[0].start, self._items[-1].end)

    def total(self, zero=0):
        """The summed length. Give `zero` (a timedelta, say) when ends are not numbers."""
        return sum((item.length for item in self._items), zero)

    # algebra

    def union(self, other):
        return IntervalSet(self._items + other._items)

    def intersection(self, other):
        """What is in both. One sweep over the two sorted sequences."""
        result = []
        left, right = 0, 0
        while left < len(self._items) and right < len(other._items):
            shared = self._items[left].intersect(other._items[right])
            if shared is not None:
                result.append(shared)
            if self._items[left].end < other._items[right].end:
                left += 1
            else:
                right += 1
        return IntervalSet._from_sorted(result)

    def difference(self, other):
        """What is in this set and not in `other`. One sweep over the two sorted sequences."""
        result = []
        cuts = iter(other._items)
        cut = next(cuts, None)
        for item in self._items:
            start = item.start
            while cut is not None and cut.start < item.end:
                if cut.end > start:
                    if cut.start > start:
                        result.append(Interval(start, cut.start))
                    start = cut.end
                cut = next(cuts, None)
            if start < item.end:
                result.append(Interval(start, item.end))
        return IntervalSet._from_sorted(result)

    def complement(self, within):
        """The gaps of this set inside the interval `within`."""
        return IntervalSet([within]).difference(self)

    def clip(self, within):
        return self.intersection(IntervalSet([within]))

    def shift(self, by):
        return IntervalSet._from_sorted(item.shift(by) for item in self._items)

    __or__ = union
    __and__ = intersection
    __sub__ = difference

    # container

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __bool__(self):
        return bool(self._items)

    def __eq__(self, other):
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._items == other._items

    def __hash__(self):
        return hash(self._items)

    def __repr__(self):
        return "IntervalSet([%s])" % ", ".join(map(repr, self._items))


def _normalise(intervals):
    """Sorts, drops empty intervals and merges those that overlap or touch."""
    merged = []
    for item in sorted(item for item in intervals if not item.empty):
        if merged and item.start <= merged[-1].end:
            if item.end > merged[-1].end:
                merged[-1] = Interval(merged[-1].start, item.end)
        else:
            merged.append(item)
    return merged
