import pytest

from intervals import Interval, IntervalSet, ParseError, format_clock, format_set, parse_clock, parse_set
from intervals.parsing import parse_range


@pytest.mark.parametrize("text, minutes", [("00:00", 0), ("9:05", 545), (" 09:05 ", 545), ("24:00", 1440)])
def test_parse_clock(text, minutes):
    assert parse_clock(text) == minutes


@pytest.mark.parametrize("text", ["", "9", "24:01", "12:60", "noon", "-1:00"])
def test_parse_clock_refuses(text):
    with pytest.raises(ParseError):
        parse_clock(text)


def test_format_clock_is_the_inverse():
    assert [format_clock(parse_clock(text)) for text in ("00:00", "09:05", "24:00")] == ["00:00", "09:05", "24:00"]
    with pytest.raises(ParseError):
        format_clock(1441)


def test_parse_range_past_midnight():
    assert parse_range("22:00-02:00") == Interval(1320, 1560)


def test_parse_set():
    assert parse_set("13:00-17:00, 09:00-12:00") == IntervalSet([Interval(540, 720), Interval(780, 1020)])
    assert not parse_set("closed") and not parse_set("")
    with pytest.raises(ParseError, match="a range like"):
        parse_set("09:00")


def test_format_set_is_the_inverse():
    for text in ("09:00-12:00, 13:00-17:00", "closed", "00:00-24:00"):
        assert format_set(parse_set(text)) == text
