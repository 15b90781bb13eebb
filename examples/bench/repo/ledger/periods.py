"""Periods as pairs of days, the end not included."""


def merged(periods):
    """The same days as periods that neither overlap nor touch, in order."""
    result = []
    for start, end in sorted(periods):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return result


def days(periods):
    """How many days they cover."""
    return sum(end - start for start, end in merged(periods))
