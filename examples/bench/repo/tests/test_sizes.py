from ledger.sizes import show_size


def test_bytes():
    assert [show_size(size) for size in (0, 1023)] == ["0 B", "1023 B"]


def test_units():
    assert [show_size(size) for size in (1024, 1536, 3 * 1024**2)] == ["1.0 KiB", "1.5 KiB", "3.0 MiB"]


def test_more_than_the_last_unit():
    assert show_size(2048 * 1024**3) == "2048.0 GiB"
