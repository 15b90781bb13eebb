import pytest

from intervals import WeeklyHours, parse_set


@pytest.fixture
def office():
    return WeeklyHours.parse({"mon-fri": "09:00-12:00, 13:00-17:00", "sat": "10:00-14:00"})


@pytest.fixture
def morning():
    return parse_set("09:00-12:00")
