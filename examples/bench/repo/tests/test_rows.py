from ledger.rows import fields, total


def test_plain_fields():
    assert fields("a,b,,d") == ["a", "b", "", "d"]


def test_quoted_field():
    assert fields('1,"rent",3') == ["1", "rent", "3"]


def test_total():
    assert total(["a,100", "b,250"], 1) == 350
