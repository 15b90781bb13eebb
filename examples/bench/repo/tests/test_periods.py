from ledger.periods import days, merged


def test_periods_apart_stay_apart():
    assert merged([(5, 6), (1, 3)]) == [(1, 3), (5, 6)]


def test_periods_that_overlap_or_touch():
    assert merged([(1, 4), (3, 6), (6, 8)]) == [(1, 8)]


def test_days():
    assert days([(0, 2), (1, 5)]) == 5
