from datetime import datetime, timedelta
from fractions import Fraction

from intervals import Interval, IntervalSet


def pairs(intervals):
    return [(item.start, item.end) for item in intervals]


def make(*ends):
    return IntervalSet(Interval(start, end) for start, end in ends)


def test_normalises():
    assert pairs(make((5, 7), (1, 3), (3, 4), (6, 9), (2, 2))) == [(1, 4), (5, 9)]


def test_keeps_the_larger_of_nested():
    assert pairs(make((0, 10), (2, 3))) == [(0, 10)]


def test_equality_and_hash():
    assert make((0, 5), (5, 9)) == make((0, 9))
    assert len({make((0, 5), (5, 9)), make((0, 9))}) == 1


def test_queries():
    both = make((0, 5), (10, 15))
    assert both.contains(4) and not both.contains(5)
    assert both.covers(Interval(10, 12)) and not both.covers(Interval(4, 11))
    assert both.overlaps(Interval(4, 11)) and not both.overlaps(Interval(5, 10))
    assert both.span() == Interval(0, 15)
    assert both.total() == 10
    assert IntervalSet().span() is None


def test_union():
    assert pairs(make((0, 2)) | make((2, 4), (8, 9))) == [(0, 4), (8, 9)]


def test_intersection():
    assert pairs(make((0, 10), (20, 30)) & make((5, 25))) == [(5, 10), (20, 25)]
    assert not make((0, 10)) & make((10, 20))


def test_difference_inside_one_interval():
    assert pairs(make((0, 10)) - make((2, 3), (5, 6))) == [(0, 2), (3, 5), (6, 10)]


def test_difference_at_the_ends():
    assert pairs(make((0, 10)) - make((-5, 2))) == [(2, 10)]
    assert pairs(make((0, 10)) - make((8, 15))) == [(0, 8)]
    assert not make((0, 10)) - make((0, 10))


def test_difference_of_several_intervals():
    assert pairs(make((0, 10), (20, 30)) - make((4, 6), (22, 24))) == [(0, 4), (6, 10), (20, 22), (24, 30)]
    assert pairs(make((0, 10), (20, 30)) - make((12, 18))) == [(0, 10), (20, 30)]


def test_difference_leaves_its_operands_alone():
    left, right = make((0, 10)), make((2, 3))
    left - right
    assert pairs(left) == [(0, 10)] and pairs(right) == [(2, 3)]


def test_difference_of_fractions():
    half = Fraction(1, 2)
    assert pairs(make((0, 1)) - make((half, 2))) == [(0, half)]


def test_difference_of_datetimes():
    noon = datetime(2024, 3, 1, 12)
    hour = timedelta(hours=1)
    left = make((noon, noon + 3 * hour)) - make((noon + hour, noon + 2 * hour))
    assert pairs(left) == [(noon, noon + hour), (noon + 2 * hour, noon + 3 * hour)]
    assert left.total(timedelta()) == 2 * hour


def test_complement():
    assert pairs(make((2, 4), (6, 8)).complement(Interval(0, 10))) == [(0, 2), (4, 6), (8, 10)]
    assert pairs(IntervalSet().complement(Interval(0, 10))) == [(0, 10)]


def test_clip_and_shift():
    assert pairs(make((0, 10), (20, 30)).clip(Interval(5, 25))) == [(5, 10), (20, 25)]
    assert pairs(make((0, 10)).shift(-3)) == [(-3, 7)]
