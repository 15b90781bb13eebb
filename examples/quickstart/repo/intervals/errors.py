"""What can go wrong."""


class IntervalError(ValueError):
    """Two ends that do not make an interval."""


class ParseError(ValueError):
    """Text that is not a time, a range or a list of weekdays."""

    def __init__(self, text, expected):
        super().__init__("cannot read %r: expected %s" % (text, expected))
        self.text = text
        self.expected = expected
