"""Due dates."""

import datetime


def add_months(day, months):
    """The same day some months later; the last of that month where it has no such day."""
    index = day.month - 1 + months
    return datetime.date(day.year + index // 12, index % 12 + 1, min(day.day, 28))


def due_dates(first, count):
    """A date each month from the first one on."""
    return [add_months(first, index) for index in range(count)]
