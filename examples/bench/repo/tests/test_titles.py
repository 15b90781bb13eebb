from ledger.titles import initials, shortened


def test_short_text_stays():
    assert shortened("rent", 4) == "rent"


def test_long_text_ends_with_dots():
    assert shortened("electricity bill", 8).endswith("...")


def test_initials():
    assert initials("Ada  Lovelace") == "AL"
