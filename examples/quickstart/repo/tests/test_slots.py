from datetime import datetime, timedelta

import pytest

from intervals import Interval, IntervalError, IntervalSet, first_free, free_slots, parse_set, utilisation


def starts(slots):
    return [slot.start for slot in slots]


def test_an_empty_calendar(morning):
    assert starts(free_slots(morning, IntervalSet(), 60)) == [540, 600, 660]


def test_slots_start_after_a_booking(morning):
    assert starts(free_slots(morning, parse_set("09:20-09:50"), 60)) == [590, 650]


def test_a_booking_in_each_block(office):
    busy = parse_set("09:30-10:30, 15:00-16:30")
    assert starts(free_slots(office.on("mon"), busy, 60)) == [630, 780, 840]


def test_step_shorter_than_the_length(morning):
    assert starts(free_slots(morning, IntervalSet(), 120, step=30)) == [540, 570, 600]


def test_length_and_step_must_be_positive(morning):
    for length, step in ((0, None), (-5, None), (60, 0)):
        with pytest.raises(IntervalError):
            free_slots(morning, IntervalSet(), length, step)


def test_datetimes():
    eight = datetime(2024, 3, 1, 8)
    hour = timedelta(hours=1)
    opened = IntervalSet([Interval(eight, eight + 3 * hour)])
    busy = IntervalSet([Interval(eight, eight + hour)])
    assert starts(free_slots(opened, busy, hour)) == [eight + hour, eight + 2 * hour]


def test_first_free(office):
    monday = office.on("mon")
    assert first_free(monday, parse_set("09:00-11:30"), 60) == Interval(780, 840)
    assert first_free(monday, IntervalSet(), 60, after=600) == Interval(600, 660)
    assert first_free(monday, parse_set("09:00-12:00"), 300) is None


def test_utilisation(office):
    assert utilisation(office.on("mon"), parse_set("09:00-12:00, 12:00-12:30")) == pytest.approx(3 / 7)
    assert utilisation(IntervalSet(), parse_set("09:00-12:00")) == 0.0
