"""Short titles of bookings."""


def shortened(text, width):
    """A text of at most `width` characters: a longer one loses its end, and says so with `...`."""
    if len(text) <= width:
        return text
    return text[:width] + "..."


def initials(name):
    """`Ada Lovelace` as `AL`."""
    return "".join(word[0].upper() for word in name.split())
