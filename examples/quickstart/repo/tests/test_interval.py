from datetime import datetime, timedelta

import pytest

from intervals import Interval, IntervalError


def test_is_half_open():
    item = Interval(10, 20)
    assert item.contains(10)
    assert item.contains(19)
    assert not item.contains(20)
    assert item.length == 10


def test_refuses_an_end_before_the_start():
    with pytest.raises(IntervalError, match="before it starts"):
        Interval(5, 4)


def test_is_immutable_and_hashable():
    item = Interval(1, 2)
    with pytest.raises(AttributeError):
        item.start = 0
    assert {item: "x"}[Interval(1, 2)] == "x"


@pytest.mark.parametrize(
    "other, overlaps, touches",
    [((0, 10), False, True), ((0, 11), True, False), ((20, 30), False, True), ((12, 15), True, False)],
)
def test_overlap_and_touch(other, overlaps, touches):
    item = Interval(10, 20)
    assert item.overlaps(Interval(*other)) is overlaps
    assert item.touches(Interval(*other)) is touches


def test_intersect_split_shift():
    assert Interval(0, 10).intersect(Interval(5, 15)) == Interval(5, 10)
    assert Interval(0, 10).intersect(Interval(10, 15)) is None
    assert Interval(0, 10).split(4) == [Interval(0, 4), Interval(4, 10)]
    assert Interval(0, 10).split(10) == [Interval(0, 10)]
    assert Interval(0, 10).shift(5) == Interval(5, 15)


def test_covers():
    assert Interval(0, 10).covers(Interval(0, 10))
    assert not Interval(0, 10).covers(Interval(5, 11))
    assert Interval(0, 10).covers(Interval(50, 50))


def test_works_with_datetimes():
    noon = datetime(2024, 3, 1, 12)
    item = Interval(noon, noon + timedelta(hours=2))
    assert item.length == timedelta(hours=2)
    assert item.contains(noon + timedelta(minutes=119))
