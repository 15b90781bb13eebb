from ledger.money import show, split


def test_split_that_comes_out_even():
    assert split(900, 3) == [300, 300, 300]


def test_one_part():
    assert split(7, 1) == [7]


def test_show():
    assert [show(cents) for cents in (0, 5, 1234, -1234)] == ["0.00", "0.05", "12.34", "-12.34"]
