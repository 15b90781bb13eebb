import datetime

from ledger.months import add_months, due_dates


def test_a_month_later():
    assert add_months(datetime.date(2024, 3, 5), 1) == datetime.date(2024, 4, 5)


def test_over_the_end_of_a_year():
    assert add_months(datetime.date(2023, 11, 20), 3) == datetime.date(2024, 2, 20)


def test_due_dates():
    assert [day.month for day in due_dates(datetime.date(2024, 11, 1), 3)] == [11, 12, 1]
