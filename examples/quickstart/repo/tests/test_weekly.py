from datetime import date, datetime

import pytest

from intervals import Interval, IntervalSet, ParseError, WeeklyHours, format_set, parse_set


def test_day_ranges(office):
    assert format_set(office.on("wed")) == "09:00-12:00, 13:00-17:00"
    assert format_set(office.on("Saturday")) == "10:00-14:00"
    assert not office.on("sun")
    assert office.total() == (5 * 7 + 4) * 60


def test_a_range_over_the_weekend():
    hours = WeeklyHours.parse({"sat-mon": "10:00-12:00"})
    assert [day for day in ("fri", "sat", "sun", "mon", "tue") if hours.on(day)] == ["sat", "sun", "mon"]


def test_overnight_hours_are_carried_over():
    hours = WeeklyHours.parse({"sun": "22:00-02:00"})
    assert format_set(hours.on("sun")) == "22:00-24:00"
    assert format_set(hours.on("mon")) == "00:00-02:00"


def test_is_open(office):
    assert office.is_open(datetime(2024, 3, 4, 9, 0))
    assert not office.is_open(datetime(2024, 3, 4, 12, 30))
    assert not office.is_open(datetime(2024, 3, 9, 9, 59))


def test_available(office):
    assert format_set(office.available("mon", parse_set("10:00-11:00, 16:00-17:00"))) == (
        "09:00-10:00, 11:00-12:00, 13:00-16:00"
    )
    assert office.available(date(2024, 3, 10), parse_set("10:00-11:00")) == IntervalSet()


def test_closed_on(office):
    assert office.closed_on("sun") == IntervalSet([Interval(0, 1440)])
    assert format_set(office.closed_on("sat")) == "00:00-10:00, 14:00-24:00"


def test_unknown_day():
    with pytest.raises(ParseError, match="one of mon"):
        WeeklyHours.parse({"someday": "09:00-10:00"})
